"""Readying what has become due."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from sqlalchemy import Connection, bindparam, select, update

from todoke import crash
from todoke.database import Database
from todoke.hint import hint_of
from todoke.work.item import LATER, READY
from todoke.work.table import WorkTable, in_state


class Stager:
    """Moves rows whose time has come from `later` to `ready`, in batches."""

    def __init__(
        self,
        tables: Sequence[WorkTable],
        database: Database,
        *,
        batch: int,
        poll: float,
        ring: Callable[[Connection, Collection[str]], None] = lambda _connection, _hints: None,
        on_ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._batch, self._poll, self._ring, self._on_ready = batch, poll, ring, on_ready
        self._staging = [_Staging(table, database) for table in tables]

    def tick(self, connection: Connection) -> float:
        """Ready a batch of each table; answers how long to rest."""
        return 0.0 if self.stage(connection) >= self._batch else self._poll

    def stage(self, connection: Connection) -> int:
        """Ready a batch of each table; answers how many became ready."""
        with connection.begin():
            staged = [one.run(connection, self._batch) for one in self._staging]
            if any(staged):
                self._ring(connection, {hint for hints in staged for hint in hints})
            crash.point("stage.before_commit")
        if any(staged):
            self._on_ready()
        return sum(map(len, staged))


class _Staging:
    """Readying from one work table: look, with locks, then mark."""

    def __init__(self, table: WorkTable, database: Database) -> None:
        live = table.live
        self._source = table.source
        self._due = (
            select(live.c.id, live.c.stream, live.c.lane)
            .where(in_state(live, LATER), live.c.scheduled_at <= database.once(database.now))
            .order_by(live.c.scheduled_at)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )
        self._ready = update(live).where(database.among(live.c.id, "ids")).values(state=READY)

    def run(self, connection: Connection, at_most: int) -> list[str]:
        """Ready so many; answers for each where it is."""
        rows = connection.execute(self._due, {"at_most": at_most}).all()
        if rows:
            connection.execute(self._ready, {"ids": [row.id for row in rows]})
        return [hint_of(self._source, row.stream, row.lane) for row in rows]
