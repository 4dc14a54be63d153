"""Delivering once more what was settled, as a broker does that repeats itself."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, insert, select

from todoke.app import Todoke
from todoke.message import Event
from todoke.work.item import READY
from todoke.work.strand import place_of
from todoke.work.table import CARRIED, WorkTable


def redeliver(app: Todoke, kind: type[Event]) -> int:
    """Bring settled messages of this class back; answers how many are settled at all.

    Not to handlers with a session: what those have settled is never delivered again.
    """
    with app.engine.begin() as connection:
        relayed = _relayed(connection, app)
        events = _settled(connection, app.outbox_table, kind)
        in_place = [row for row in events if row.message_id not in relayed]
        deliveries = _settled(connection, app.inbox_table, kind)
        for table, rows in ((app.outbox_table, in_place), (app.inbox_table, deliveries)):
            for row in rows:
                if _may_see_twice(app, row):
                    _bring_back(connection, app, table, row)
    return len(events) + len(deliveries)


def _relayed(connection: Connection, app: Todoke) -> set[UUID]:
    """Events that have become deliveries, which are repeated instead of them."""
    live, history, letters = app.inbox_table.live, app.inbox_table.history, app.letter_table
    parts = [select(table.c.message_id) for table in (live, history)]
    dead = select(letters.c.message_id).where(letters.c.source == app.inbox_table.source)
    return {row.message_id for part in (*parts, dead) for row in connection.execute(part)}


def _settled(connection: Connection, table: WorkTable, kind: type[Event]) -> list[Row[Any]]:
    history, declared = table.history, kind.declared
    rows = select(history).where(history.c.type == declared.type).order_by(history.c.id)
    if declared.context is not None:
        rows = rows.where(history.c.context == declared.context)
    return list(connection.execute(rows))


def _may_see_twice(app: Todoke, row: Any) -> bool:
    handler = app.handlers.by_name.get(app.handlers.name_for(row))
    return handler is not None and handler.session_parameter is None


def _bring_back(connection: Connection, app: Todoke, table: WorkTable, row: Row[Any]) -> None:
    """From history: there a second row of this id would be refused. A repeat has no order."""
    place = place_of(row.stream, row.aggregate, row.key, row.handler, ordered=False)
    carried = {name: row._mapping[name] for name in CARRIED}
    back = insert(table.live).values(
        **{**carried, "ordered": False, "deliver_before": None, **place},
        id=row.id,
        attempt=row.attempt,
        spared=row.attempt,
        state=READY,
        scheduled_at=app.database.now,
        updated_at=app.database.now,
    )
    connection.execute(delete(table.history).where(table.history.c.id == row.id))
    connection.execute(back)
