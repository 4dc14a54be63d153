"""What the board tells, read at one moment. Of history only the newest is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.orm import Session

from todoke import Todoke
from todoke.operate import JobCounts, JobRecord, RunRecord, ScheduleRecord

MOST_RUNS = 50
MOST_RUNNING = 50


@dataclass(frozen=True)
class Underway:
    """A job that a worker has."""

    record: JobRecord
    since: datetime | None
    """None before its worker has told that it runs: within the first half second."""


@dataclass(frozen=True)
class Workers:
    registered: int
    silent: int | None
    """How many let their lease run out; None where a lease is a file, of which no row tells."""


@dataclass(frozen=True)
class Look:
    at: datetime
    app: str
    underway: Sequence[Underway]
    schedules: Sequence[ScheduleRecord]
    runs: Sequence[RunRecord]
    counts: Sequence[JobCounts]
    dead: int
    workers: Workers

    @property
    def running(self) -> int:
        return sum(one.running for one in self.counts)

    @property
    def waiting(self) -> int:
        return sum(one.ready + one.later + one.held for one in self.counts)


def look(app: Todoke, job: str | None) -> Look:
    now = app.clock.now()
    with app.session() as session:
        counts = app.jobs.status(session)
        runs = app.jobs.runs(session, job, limit=MOST_RUNS)
        figures = app.events.status(session)
        return Look(
            at=now,
            app=app.name,
            underway=_underway(app, session, runs),
            schedules=app.schedules.list(session),
            runs=runs,
            counts=counts,
            dead=figures.dead,
            workers=_workers(app, figures.workers, now),
        )


def _underway(app: Todoke, session: Session, runs: Sequence[RunRecord]) -> list[Underway]:
    """The longest first."""
    found = app.jobs.list(session, status="PROCESSING", limit=MOST_RUNNING)
    told = {run.job_id: run.started_at for run in runs if run.status == "RUNNING"}
    underway = [Underway(one, _since(app, session, one.id, told)) for one in found]
    return sorted(underway, key=lambda one: (one.since is None, one.since or one.record.created_at))


def _since(
    app: Todoke, session: Session, id: UUID, told: Mapping[UUID, datetime | None]
) -> datetime | None:
    if id in told:
        return told[id]
    last = next(iter(app.jobs.runs(session, id=id, limit=1)), None)
    return None if last is None or last.status != "RUNNING" else last.started_at


def _workers(app: Todoke, rows: Sequence[Mapping[str, Any]], now: datetime) -> Workers:
    if app.url.get_backend_name() == "sqlite":
        return Workers(len(rows), None)
    return Workers(len(rows), sum(row["lease_until"] < now for row in rows))
