"""What was published, as the events themselves: waiting, processed or dead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from sqlalchemy import Row, select, union_all

from todoke.app import Todoke
from todoke.database import reading
from todoke.errors import InvalidOption, UnknownEvent
from todoke.message import Event

E = TypeVar("E", bound=Event)

_NAMES = ("id", "context", "type", "version", "body")


def published(app: Todoke, kind: type[E]) -> list[E]:
    """All events of this class, or of one derived from it, in the order of publishing."""
    if not (isinstance(kind, type) and issubclass(kind, Event)):
        raise UnknownEvent(kind)
    return [event for row in _rows(app) if (event := _read(row, kind)) is not None]


def fitting(events: list[E], kind: type[E], fields: Mapping[str, object]) -> list[E]:
    """Those that have these values."""
    for name in fields:
        if name not in kind.model_fields:
            known = ", ".join(kind.model_fields) or "none"
            raise InvalidOption(f"{kind.__name__}.{name}", "…", f"no such field. Known: {known}.")
    return [
        event
        for event in events
        if all(getattr(event, name) == value for name, value in fields.items())
    ]


def instead(app: Todoke) -> str:
    """All that was published, for a message that says what was missing."""
    told = [repr(_read(row, Event) or _plainly(row)) for row in _rows(app)]
    lines = "".join(f"\n  {one}" for one in told)
    return f"Published were:{lines}" if told else "Nothing was published, or it is not committed."


def _rows(app: Todoke) -> list[Row[Any]]:
    """Of the outbox, wherever they are by now; a redriven dead letter lives again elsewhere."""
    live, history, letters = app.outbox_table.live, app.outbox_table.history, app.letter_table
    dead = select(letters.c.item_id, *(letters.c[name] for name in _NAMES[1:])).where(
        letters.c.source == app.outbox_table.source,
        letters.c.closed_as.is_distinct_from("redriven"),
    )
    parts = [select(*(table.c[name] for name in _NAMES)) for table in (live, history)]
    every = union_all(*parts, dead).subquery()
    with app.engine.connect() as connection, reading(connection):
        return list(connection.execute(select(every).order_by(every.c.id)))


def _read(row: Row[Any], kind: type[E]) -> E | None:
    for one in (kind, *_derived(kind)):
        declared = one.declared
        if (declared.type, declared.version) == (row.type, row.version) and (
            declared.context in (None, row.context)
        ):
            try:
                return one.model_validate_json(row.body)
            except ValidationError:
                continue  # of another class that has the same name
    return None


def _derived(kind: type[E]) -> Iterator[type[E]]:
    """The newest first: a test may declare a class of the same name again."""
    for one in reversed(kind.__subclasses__()):
        yield one
        yield from _derived(one)


def _plainly(row: Row[Any]) -> str:
    return f"{row.context}/{row.type} {row.body}"
