"""Landing: an event becomes one delivery for each of its handlers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, insert, select

from todoke.database import Database
from todoke.work.item import Item
from todoke.work.table import CARRIED, WorkTable


class Landing:
    """Copies a settled event into the inbox, once per handler, in the settling transaction."""

    def __init__(self, outbox: WorkTable, inbox: WorkTable, database: Database) -> None:
        event = outbox.history
        kept = [name for name in CARRIED if name != "handler"]
        copy = select(
            *(event.c[name] for name in kept),
            bindparam("to_handler", type_=event.c.handler.type),
            database.now,
            database.now,
        ).where(event.c.id == bindparam("event_row"))
        columns = [*kept, "handler", "scheduled_at", "updated_at"]
        self._copy = insert(inbox.live).from_select(columns, copy, include_defaults=False)

    def __call__(self, connection: Connection, item: Item, handlers: Sequence[str]) -> None:
        for handler in handlers:
            connection.execute(self._copy, {"event_row": item.id, "to_handler": handler})
