"""Looking at runs: those with a row of their own, and those that their settled row tells of.

Merges two limited reads, as for jobs themselves; the view `job_run_history` is for people.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, select

from todoke import codec
from todoke.jobs.history import SUCCEEDED
from todoke.jobs.records import RunRecord
from todoke.jobs.table import JobTables

_NEVER = datetime.max.replace(tzinfo=UTC)


class RunReader:
    """Takes no locks."""

    def __init__(self, tables: JobTables) -> None:
        self._own, self._settled = tables.runs, tables.work.history

    def newest(
        self, connection: Connection, jobs: Sequence[str] | None, id: UUID | None, limit: int
    ) -> list[RunRecord]:
        """Newest first: of all, of jobs of these names, or of one job."""
        own = [_own(row) for row in connection.execute(self._of_own(jobs, id).limit(limit))]
        settled = self._of_settled(jobs, id).limit(limit)
        told = [_settled(row) for row in connection.execute(settled)]
        return sorted([*own, *told], key=_age, reverse=True)[:limit]

    def _of_own(self, jobs: Sequence[str] | None, id: UUID | None) -> Select[Any]:
        runs = self._own
        rows = select(runs).order_by(runs.c.id.desc())
        if jobs is not None:
            rows = rows.where(runs.c.job.in_(jobs))
        return rows if id is None else rows.where(runs.c.job_id == id)

    def _of_settled(self, jobs: Sequence[str] | None, id: UUID | None) -> Select[Any]:
        settled = self._settled
        rows = select(settled).where(settled.c.worker_name.is_not(None))
        if jobs is not None:
            rows = rows.where(settled.c.handler.in_(jobs))
        if id is not None:
            rows = rows.where(settled.c.message_id == id)
        return rows.order_by(settled.c.settled_at.desc(), settled.c.id.desc())


def _age(run: RunRecord) -> tuple[datetime, datetime, int, UUID]:
    """When it ended; one that goes on is newer than all that have."""
    started = run.started_at or run.finished_at
    assert started is not None  # noqa: S101
    return run.finished_at or _NEVER, started, run.attempt, run.id


def _own(row: Row[Any]) -> RunRecord:
    told = row._mapping
    same = {
        name: told[name]
        for name in RunRecord.__dataclass_fields__
        if name not in ("worker", "metrics", "log")
    }
    return RunRecord(
        **same,
        worker=row.worker_name,
        metrics=codec.load_object(row.metrics) if row.metrics else {},
        log=row.log.split("\n") if row.log else [],
    )


def _settled(row: Row[Any]) -> RunRecord:
    return RunRecord(
        id=row.message_id,
        job_id=row.message_id,
        job=row.handler,
        context=row.context,
        env=row.env,
        attempt=row.attempt - row.spared,
        status=SUCCEEDED,
        worker=row.worker_name,
        started_at=row.claimed_at,
        finished_at=row.settled_at,
    )
