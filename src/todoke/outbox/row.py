"""Events as rows of the outbox, and the statements that write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select

from todoke.database import Database
from todoke.message import Event
from todoke.work.item import LATER, READY
from todoke.work.strand import stream_name
from todoke.work.table import WorkTable

_SHARED = (
    "context",
    "stream",
    "type",
    "version",
    "aggregate",
    "ordered",
    "followers",
    "state",
)
_OWN = (
    "message_id",
    "key",
    "strand",
    "lane",
    "body",
    "headers",
    "trace_context",
    "deliver_before",
)
_MANY = 8
"""From so many rows on, columns are bound as arrays, where a database takes them."""


class Row(NamedTuple):
    """One event: what it has in common with others of its class, and what is its own."""

    shared: Mapping[str, Any]
    own: Mapping[str, Any]
    delay: float
    locked: bool


@lru_cache(maxsize=1024)
def shared(kind: type[Event], context: str, *, delayed: bool) -> Mapping[str, Any]:
    """The same object for all events of a class, by which they are known to be alike.

    A delayed event gives up its place: followers do not wait until it is due.
    """
    declared = kind.declared
    return {
        "context": context,
        "stream": stream_name(context),
        "type": declared.type,
        "version": declared.version,
        "aggregate": declared.aggregate or declared.type,
        "ordered": declared.ordered and not delayed,
        "followers": declared.followers,
        "state": LATER if delayed else READY,
    }


class Inserts:
    """Writes rows: one alone, many of one class, or any."""

    def __init__(self, table: WorkTable, database: Database) -> None:
        live = table.live
        moments = {"created_at": database.now, "updated_at": database.now}
        # Inline: nobody asks for the ids that the database draws.
        due = insert(live).inline()
        self._due = due.values(scheduled_at=database.now, **moments)
        self._later = due.values(scheduled_at=database.after("delay"), **moments)
        self._database = database
        arrays = database.arrays([live.c[name] for name in _OWN], json="body")
        self._alike = None
        if arrays is not None:
            common = [bindparam(f"the_{name}", type_=live.c[name].type) for name in _SHARED]
            now = [database.now] * 3
            rows = select(*common, *arrays.c, *now).select_from(arrays)
            columns = [*_SHARED, *_OWN, "scheduled_at", "created_at", "updated_at"]
            self._alike = insert(live).from_select(columns, rows, include_defaults=False)

    def write(self, connection: Connection, rows: Sequence[Row]) -> None:
        """In the order of the rows, which is the order their ids are drawn in."""
        due = [row for row in rows if not row.delay]
        later = [row for row in rows if row.delay]
        if due:
            self._write_due(connection, due)
        if later:
            values = [{**row.shared, **row.own, "delay": row.delay} for row in later]
            connection.execute(self._later, values)

    def _write_due(self, connection: Connection, due: Sequence[Row]) -> None:
        common = due[0].shared
        if self._alike is None or len(due) < _MANY or any(one.shared is not common for one in due):
            values = [{**row.shared, **row.own} for row in due]
            connection.execute(self._due, values if len(values) > 1 else values[0])
            return
        columns = {name: [row.own[name] for row in due] for name in _OWN}
        arrays = self._database.bound_arrays(columns, json="body")
        alike = {f"the_{name}": value for name, value in common.items()}
        connection.execute(self._alike, {**alike, **arrays})
