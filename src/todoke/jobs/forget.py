"""Letting go of what is old: runs beyond the last so many, keys whose time is over, old ticks, what
jobs have left that live no more.

Of each job the last successes are kept, and all failures for their time. Ids are drawn in the
order of time, so that old runs are found by them; each walk begins behind the last, since failures
stay in between. A chunk at a time, so that nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, Table, bindparam, delete, select, tuple_

from todoke import crash
from todoke.database import UNIQUE_ID, Database
from todoke.identity import first_at
from todoke.jobs.handler import JobHandler
from todoke.jobs.history import SKIPPED, SUCCEEDED
from todoke.jobs.remains import Remains
from todoke.jobs.table import JobTables

REST, _AT_ONCE, _MOST_CHUNKS = 10.0, 1_000, 10
_FIRST = UUID(int=0)


class Forgetting:
    """Done now and then by each worker process."""

    def __init__(
        self,
        tables: JobTables,
        letters: Table,
        database: Database,
        handlers: Callable[[], Mapping[str, JobHandler]],
        keeps: float,
    ) -> None:
        self._handlers, self._keeps = handlers, timedelta(seconds=keeps)
        self._clock = database.clock
        runs, keys, ticks = tables.runs, tables.unique_keys, tables.ticks
        of_job, well = runs.c.job == bindparam("of_job"), runs.c.status.in_([SUCCEEDED, SKIPPED])
        last = select(runs.c.id).where(of_job, well).order_by(runs.c.id.desc())
        self._surplus_up_to = last.offset(bindparam("kept")).limit(1)
        span = (
            runs.c.id > bindparam("behind", type_=UNIQUE_ID),
            runs.c.id <= bindparam("up_to", type_=UNIQUE_ID),
        )
        some = select(runs.c.id).where(of_job, *span).order_by(runs.c.id)
        self._surplus, self._old = _Chunk(runs, some.where(well)), _Chunk(runs, some)
        self._walked: dict[str, UUID] = {}
        expired = keys.c.expires_at <= database.once(database.now)
        self._keys = _Chunk(keys, select(keys.c.context, keys.c.key).where(expired))
        tick = select(ticks.c.application, ticks.c.schedule, ticks.c.due)
        cutoff = database.once(database.after("cutoff"))
        self._ticks = _Chunk(ticks, tick.where(ticks.c.noted_at < cutoff))
        self._remains = Remains(tables, letters)

    def tick(self, connection: Connection) -> float:
        before = self._clock.now() - self._keeps
        for handler in {id(one): one for one in self._handlers().values()}.values():
            self._forget_runs(connection, handler, before)
        self._keys.run(connection, {})
        self._ticks.run(connection, {"cutoff": -self._keeps.total_seconds()})
        self._remains.forget(connection)
        return REST

    def _forget_runs(self, connection: Connection, job: JobHandler, before: datetime) -> None:
        of_job = {"of_job": job.name}
        self._old.run(connection, {**of_job, "behind": _FIRST, "up_to": first_at(before)})
        with connection.begin():
            kept = {**of_job, "kept": job.keep_successes}
            up_to = connection.execute(self._surplus_up_to, kept).scalar()
        behind = self._walked.get(job.name, _FIRST)
        if up_to is None or up_to <= behind:
            return
        if self._surplus.run(connection, {**of_job, "behind": behind, "up_to": up_to}):
            self._walked[job.name] = up_to


class _Chunk:
    """Finds rows and deletes them, so many at a time."""

    def __init__(self, table: Table, found: Select[Any]) -> None:
        self._found = found.limit(_AT_ONCE).with_for_update(skip_locked=True)
        self._table, self._keys = table, list(table.primary_key.columns)

    def run(self, connection: Connection, values: Mapping[str, Any]) -> bool:
        """True when none is left."""
        for _ in range(_MOST_CHUNKS):
            with connection.begin():
                rows = connection.execute(self._found, values).all()
                if rows:
                    connection.execute(self._delete([tuple(row) for row in rows]))
                crash.point("forget.before_commit")
            if len(rows) < _AT_ONCE:
                return True
        return False

    def _delete(self, ids: list[tuple[Any, ...]]) -> Any:
        if len(self._keys) == 1:
            return delete(self._table).where(self._keys[0].in_([id for (id,) in ids]))
        return delete(self._table).where(tuple_(*self._keys).in_(ids))
