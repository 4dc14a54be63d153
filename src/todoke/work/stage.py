"""Readying what has become due."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, bindparam, select, update

from todoke import crash
from todoke.database import Database
from todoke.work.item import LATER, READY
from todoke.work.table import WorkTable


class Stager:
    """Moves rows whose time has come from `later` to `ready`, in batches."""

    def __init__(
        self,
        table: WorkTable,
        database: Database,
        *,
        batch: int,
        poll: float,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._batch, self._poll, self._on_ready = batch, poll, on_ready
        live = table.live
        due = (
            select(live.c.id)
            .where(live.c.state == LATER, live.c.scheduled_at <= database.now)
            .order_by(live.c.scheduled_at)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )
        self._ready = (
            update(live)
            .where(database.chosen(live.c.id, due))
            .values(state=READY)
            .returning(live.c.id)
        )

    def tick(self, connection: Connection) -> float:
        """Ready one batch; answers how long to rest."""
        with connection.begin():
            staged = len(connection.execute(self._ready, {"at_most": self._batch}).all())
            crash.point("stage.before_commit")
        if staged:
            self._on_ready()
        return 0.0 if staged == self._batch else self._poll
