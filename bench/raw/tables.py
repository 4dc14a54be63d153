"""Names and values that raw loops share with todoke: the same tables, columns and rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias
from uuid import uuid4

from bench.event import Measured, key
from todoke import Settings, Todoke
from todoke.work.item import Item
from todoke.work.table import CARRIED, ERROR, TOLD

Row: TypeAlias = dict[str, Any]
STREAM, UNORDERED = "todoke/default", -1
ENTRY: Row = {
    "id": None,
    "tenant": "",
    "caller": "",
    "operation": "",
    "key": None,
    "digest": None,
    "state": "accepted",
    "message_id": None,
    "keeps": 86400.0,
}


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
    ledger: str
    entry: Row
    """A row of the ledger, but for what differs from key to key; `accepted_at` is apart."""
    entry_columns: str


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
        ledger=app.ledger.table.fullname,
        entry=ENTRY,
        entry_columns=", ".join(map(quoted, ENTRY)),
    )


def rows(template: Row, events: Iterator[Measured]) -> Iterator[Row]:
    """The rows of these events, each body made as it is asked for."""
    for event in events:
        own = {"message_id": uuid4(), "key": str(event.order_id), "body": event.model_dump_json()}
        yield {**template, **own}


def entries(template: Row, rows: Iterator[Row]) -> Iterator[tuple[Row, Row]]:
    """Each row with an entry of the ledger that it settles, its request digested."""
    for number, row in enumerate(rows):
        digest = sha256(row["body"].encode()).hexdigest()
        own = {"id": uuid4(), "key": key(number), "digest": digest}
        entry = {**template, **own, "message_id": row["message_id"]}
        yield entry, {**row, "settles": entry["id"]}
