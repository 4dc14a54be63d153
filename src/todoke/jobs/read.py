"""Looking at jobs: where they are, how their runs went, why they wait."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, bindparam, func, select

from todoke.both import both
from todoke.database import UNIQUE_ID
from todoke.errors import InvalidOption, NotFound
from todoke.jobs.history import RUNNING
from todoke.jobs.job import JobRef
from todoke.jobs.pauses import Handlers, PauseRecord, names_of
from todoke.jobs.records import (
    PENDING,
    PROCESSING,
    STATUSES,
    JobCounts,
    JobRecord,
    RunRecord,
)
from todoke.jobs.runs import RunReader
from todoke.jobs.surroundings import Situation, Surroundings
from todoke.jobs.table import JobTables
from todoke.jobs.ties import ties_of
from todoke.jobs.whereabouts import Found, Whereabouts
from todoke.jobs.why import Reasons
from todoke.work.item import HELD, LATER
from todoke.work.strand import context_of, queue_of


class JobReader:
    """Every look takes a Session, a Connection, or their async kind."""

    def __init__(
        self,
        tables: JobTables,
        whereabouts: Whereabouts,
        surroundings: Surroundings,
        reasons: Reasons,
        handlers: Handlers,
    ) -> None:
        self._tables, self._whereabouts, self._handlers = tables, whereabouts, handlers
        self._surroundings, self._reasons = surroundings, reasons
        self._runs = RunReader(tables)
        runs, keys, live = tables.runs, tables.unique_keys, tables.work.live
        ids = bindparam("ids", type_=UNIQUE_ID, expanding=True)
        told = (runs.c.job_id, runs.c.status, runs.c.worker_name, runs.c.processed, runs.c.total)
        self._last_runs = select(*told).where(runs.c.job_id.in_(ids)).order_by(runs.c.id)
        self._keys = select(keys.c.job_id, keys.c.key).where(keys.c.job_id.in_(ids))
        here = (keys.c.context == bindparam("of_context"), keys.c.key == bindparam("of_key"))
        self._holder = select(keys.c.job_id).where(*here)
        free = live.c.owner.is_(None).label("free")
        group = (live.c.stream, live.c.handler, live.c.state, free)
        counted = (func.count().label("count"), func.min(live.c.scheduled_at).label("oldest"))
        self._living = select(*group, *counted).group_by(*group)

    @both
    def list(
        self,
        connection: Connection,
        *,
        status: str | None = None,
        job: str | None = None,
        queue: str | None = None,
        limit: int = 50,
    ) -> Sequence[JobRecord]:
        """Newest first; `queue` is "files", or "shipping/files" for that of one context."""
        if status is not None and status not in STATUSES:
            raise InvalidOption("status", status, f"one of {', '.join(STATUSES)}.")
        found = self._whereabouts.newest(
            connection,
            status=status,
            jobs=None if job is None else names_of(job, self._handlers()),
            queue=queue,
            limit=limit,
        )
        situation = self._surroundings.at(connection)
        return self._records(connection, found, situation, self._reasons.first)

    @both
    def get(self, connection: Connection, job: JobRef[Any] | UUID) -> JobRecord:
        """A job by its id or ref; a ref that was a repeat leads to the first of its unique key."""
        found = self._find(connection, job)
        situation = self._surroundings.at(connection)
        (record,) = self._records(connection, [found], situation, self._most_important)
        return record

    @both
    def why(self, connection: Connection, job: JobRef[Any] | UUID) -> Sequence[str]:
        """What it waits for, the most important first; or what became of it."""
        found = self._find(connection, job)
        return self._reasons.all(self._known(found), self._surroundings.at(connection))

    @both
    def runs(
        self,
        connection: Connection,
        job: str | None = None,
        id: UUID | None = None,
        limit: int = 50,
    ) -> Sequence[RunRecord]:
        """Attempts, newest first: of all jobs, those of one name, or of one id."""
        names = None if job is None else names_of(job, self._handlers())
        return self._runs.newest(connection, names, id, limit)

    @both
    def status(self, connection: Connection) -> Sequence[JobCounts]:
        """What there is of each job in each queue; those that are paused or living."""
        situation = self._surroundings.at(connection)
        groups: defaultdict[tuple[str, str, str], Counting] = defaultdict(Counting)
        for row in connection.execute(self._living):
            place = (context_of(row.stream), queue_of(row.stream), row.handler or "")
            groups[place].add(row)
        return [
            one.counts(*place, situation.now, self._rests(situation, *place))
            for place, one in sorted(groups.items())
        ]

    @both
    def pauses(self, connection: Connection) -> Sequence[PauseRecord]:
        """What rests, and by whose word; the oldest first."""
        return [*self._surroundings.at(connection).paused]

    def _find(self, connection: Connection, job: JobRef[Any] | UUID) -> Found:
        id = job.id if isinstance(job, JobRef) else job
        found = self._whereabouts.one(connection, id)
        if found is None and isinstance(job, JobRef) and job.unique is not None:
            found = self._first_of(connection, job)
        if found is None:
            raise NotFound("job", id)
        return found

    def _first_of(self, connection: Connection, job: JobRef[Any]) -> Found | None:
        """The job that has the key of one that was never enqueued."""
        handler = self._handlers().get(job.job)
        if handler is None:
            return None
        place = {"of_context": handler.context, "of_key": job.unique}
        first = connection.execute(self._holder, place).scalar()
        return None if first is None else self._whereabouts.one(connection, first)

    def _most_important(self, found: Found, situation: Situation) -> str | None:
        return self._reasons.all(found, situation)[0] if found.status == PENDING else None

    def _known(self, found: Found) -> Found:
        """With what its handler says, where no attempt has written that down yet."""
        handler = self._handlers().get(found.job)
        if found.max_attempts is not None or handler is None:
            return found
        return found._replace(max_attempts=handler.retry.attempts)

    def _records(
        self,
        connection: Connection,
        found: Sequence[Found],
        situation: Situation,
        why: Callable[[Found, Situation], str | None],
    ) -> Sequence[JobRecord]:
        if not found:
            return []
        ids = {"ids": [one.id for one in found]}
        last = {row.job_id: row for row in connection.execute(self._last_runs, ids)}
        keys = {row.job_id: row.key for row in connection.execute(self._keys, ids)}
        known = [self._known(one) for one in found]
        return [
            _record(
                one,
                _present(one, last.get(one.id)),
                situation.worker_names if one.status == PROCESSING else {},
                keys.get(one.id),
                why(one, situation),
            )
            for one in known
        ]

    def _rests(self, situation: Situation, context: str, queue: str, job: str) -> str | None:
        handler = self._handlers().get(job)
        name = job if handler is None else handler.name
        pause = situation.paused.queue(f"{context}/{queue}") or situation.paused.job(name)
        return None if pause is None else f"by {pause.by}: {pause.reason}"


class Counting:
    """Adds up what there is of one job in one queue."""

    def __init__(self) -> None:
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._oldest: datetime | None = None

    def add(self, row: Any) -> None:
        what = row.state if row.state in (LATER, HELD) else "ready"
        self._counts[what if row.free else "running"] += row._mapping["count"]
        if row.free and what == "ready" and (self._oldest is None or row.oldest < self._oldest):
            self._oldest = row.oldest

    def counts(
        self, context: str, queue: str, job: str, now: datetime, paused: str | None
    ) -> JobCounts:
        oldest = None if self._oldest is None else now - self._oldest
        return JobCounts(context, queue, job, **self._counts, oldest=oldest, paused=paused)


def _present(found: Found, run: Any) -> Any:
    """The last run, if it tells how the job stands: not while it waits, or runs once more."""
    if found.status == PENDING or run is None:
        return None
    return None if found.status == PROCESSING and run.status != RUNNING else run


def _record(
    found: Found,
    run: Any,
    workers: Mapping[UUID, str],
    key: str | None,
    why: str | None,
) -> JobRecord:
    ties = ties_of(found.headers)
    worker = None if found.owner is None else workers.get(found.owner)
    return JobRecord(
        id=found.id,
        job=found.job,
        context=found.context,
        queue=queue_of(found.stream),
        status=found.status,
        priority=-found.priority,
        argument=found.body,
        attempts=found.attempts,
        max_attempts=found.max_attempts,
        error_code=found.error_code,
        error_message=found.error_message,
        note=found.note,
        created_at=found.created_at,
        scheduled_at=found.scheduled_at,
        settled_at=found.settled_at,
        worker=worker or (found.worker_name if run is None else run.worker_name),
        processed=None if run is None else run.processed,
        total=None if run is None else run.total,
        schedule=ties.schedule,
        tick=ties.tick,
        unique=key,
        batch=ties.batch,
        why_waiting=why,
    )
