"""Readying what has become due."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from todoke import crash
from todoke.database import Database
from todoke.work.item import LATER, READY
from todoke.work.table import WorkTable


class Stager:
    """Moves rows whose time has come from `later` to `ready`, in batches."""

    def __init__(
        self,
        tables: Sequence[WorkTable],
        database: Database,
        *,
        batch: int,
        poll: float,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._batch, self._poll, self._on_ready = batch, poll, on_ready
        self._statements = [_ready(table, database) for table in tables]

    def tick(self, connection: Connection) -> float:
        """Ready a batch of each table; answers how long to rest."""
        return 0.0 if self.stage(connection) >= self._batch else self._poll

    def stage(self, connection: Connection) -> int:
        """Ready a batch of each table; answers how many became ready."""
        with connection.begin():
            staged = [
                len(connection.execute(one, {"at_most": self._batch}).all())
                for one in self._statements
            ]
            crash.point("stage.before_commit")
        if any(staged):
            self._on_ready()
        return sum(staged)


def _ready(table: WorkTable, database: Database) -> ReturningUpdate[tuple[int]]:
    live = table.live
    due = (
        select(live.c.id)
        .where(live.c.state == LATER, live.c.scheduled_at <= database.now)
        .order_by(live.c.scheduled_at)
        .limit(bindparam("at_most"))
        .with_for_update(skip_locked=True)
    )
    return (
        update(live).where(database.chosen(live.c.id, due)).values(state=READY).returning(live.c.id)
    )
