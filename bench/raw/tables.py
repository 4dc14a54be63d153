"""Names and values that raw loops share with todoke: the same tables, columns and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import uuid4

from bench.event import Measured
from todoke import Settings, Todoke
from todoke.work.item import Item
from todoke.work.table import CARRIED, ERROR, TOLD

Row: TypeAlias = dict[str, Any]
STREAM, UNORDERED = "todoke/default", -1


@dataclass(frozen=True, slots=True)
class Tables:
    """The outbox as SQL names it."""

    live: str
    history: str
    claimed: str
    """The columns that a claim reads."""
    carried: str
    """The columns that move into history."""
    body: int
    """Where the body is among the claimed ones."""
    columns: str
    """The columns that publishing fills, in the order of the row; the three moments are apart."""
    row: Row
    """An event's row but for what differs from event to event."""


def tables(url: str) -> Tables:
    app = Todoke(url, settings=Settings({}, environment={}))
    quoted = app.database.engine(app.url, 1).dialect.identifier_preparer.quote
    claimed = list(Item._fields)
    (row,) = app.outbox.rows(app.outbox.messages([Measured(order_id=0)], "todoke"))
    stored = row.values
    return Tables(
        live=app.outbox_table.live.fullname,
        history=app.outbox_table.history.fullname,
        claimed=", ".join(map(quoted, claimed)),
        carried=", ".join(map(quoted, ["id", *CARRIED, *TOLD, *ERROR])),
        body=claimed.index("body"),
        columns=", ".join(map(quoted, stored)),
        row=stored,
    )


def rows(template: Row, events: Iterator[Measured]) -> Iterator[Row]:
    """The rows of these events, each body made as it is asked for."""
    for event in events:
        own = {"message_id": uuid4(), "key": str(event.order_id), "body": event.model_dump_json()}
        yield {**template, **own}
