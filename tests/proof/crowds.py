"""Very many rows that are not what a worker looks for, written by PostgreSQL itself.

A real message leads the way: what it left behind is copied under other names, older than all that
is published later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import String, Table, Uuid, cast, func, insert, select, text, true
from sqlalchemy.sql import ColumnElement

from tests.application import publish
from todoke import Event, PermanentError, Todoke

Make: TypeAlias = Callable[[str], Event]
Crowd: TypeAlias = Callable[[Todoke, Make, int], None]
Names: TypeAlias = Callable[[ColumnElement[int]], Mapping[str, ColumnElement[Any]]]

_PORTION = 1000


def history(app: Todoke, make: Make, count: int) -> None:
    """Messages that were processed."""
    app.on(type(make("")))(_succeed)
    publish(app, make("first"))
    app.drain()
    _copy(app, app.outbox_table.history, count, lambda number: {"id": number})


def dead_letters(app: Todoke, make: Make, count: int) -> None:
    """Messages that were given up, each of a key of its own; where order is kept that is held."""
    app.on(type(make("")))(_fail)
    publish(app, make("dies"))
    app.drain()
    letters, holds = app.letter_table, app.hold_table
    _copy(app, letters, count, lambda number: {"id": _name(number), "item_id": number})
    _copy(app, holds, count, lambda number: {"strand": number, "barrier": number})


def backlog(app: Todoke, make: Make, count: int) -> None:
    """Messages of the same stream that are behind those which are drained."""
    publish_many(app, [make(f"waits {number}") for number in range(count)])


def publish_many(app: Todoke, events: Sequence[Event]) -> int:
    for start in range(0, len(events), _PORTION):
        publish(app, *events[start : start + _PORTION])
    return len(events)


def _copy(app: Todoke, table: Table, count: int, names: Names) -> None:
    """As many copies of the rows there are, none or one."""
    number = func.generate_series(2, count).table_valued("number").render_derived().c.number
    own: dict[str, ColumnElement[Any]] = {
        "message_id": _name(number),
        "key": cast(number, String),
        "lane": number % 64,
        **names(number),
    }
    rows = select(*(own.get(column.name, column) for column in table.c))
    with app.engine.begin() as connection:
        copied = rows.select_from(table.join(number.table, true()))
        connection.execute(insert(table).from_select(list(table.c), copied, include_defaults=False))
        next_id = f"pg_get_serial_sequence('{app.outbox_table.live.fullname}', 'id')"
        connection.execute(text(f"SELECT setval({next_id}, :count)"), {"count": count})


def _name(number: ColumnElement[int]) -> ColumnElement[Any]:
    return cast(func.lpad(func.to_hex(number), 32, "0"), Uuid)


def _succeed(event: Event) -> None: ...


def _fail(event: Event) -> None:
    raise PermanentError("never")
