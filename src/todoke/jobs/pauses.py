"""Queues, jobs and schedules that rest until a person says otherwise.

What is paused is read by every worker once a second. A queue, and a job with a limit of its own,
lies in streams of its own, which are not claimed from. Other jobs share their queue's stream: what
a worker claims of a paused one becomes `held`, and is readied when the job is resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import BindParameter, Connection, bindparam, delete, select, update
from sqlalchemy.sql import ColumnElement

from todoke.database import Database
from todoke.jobs.handler import JobHandler
from todoke.jobs.table import JobTables
from todoke.work.item import HELD, READY
from todoke.work.key_slots import NO_KEY
from todoke.work.strand import UNORDERED, context_of, queue_of
from todoke.work.table import in_state

QUEUE, JOB, SCHEDULE = "queue", "job", "schedule"

Handlers = Callable[[], Mapping[str, JobHandler]]


def names_of(job: str, handlers: Mapping[str, JobHandler]) -> Sequence[str]:
    """A job's name and those it had before."""
    handler = handlers.get(job)
    return [job] if handler is None else [handler.name, *handler.aliases]


@dataclass(frozen=True, slots=True)
class PauseRecord:
    """What rests, by whose word."""

    kind: str
    name: str
    by: str
    reason: str
    since: datetime


class Paused:
    """What rested at one moment."""

    def __init__(self, records: Iterable[PauseRecord] = ()) -> None:
        self._records: Mapping[tuple[str, str], PauseRecord] = {
            (one.kind, one.name): one for one in records
        }

    def __bool__(self) -> bool:
        return bool(self._records)

    def __iter__(self) -> Iterator[PauseRecord]:
        return iter(self._records.values())

    def queue(self, stream: str) -> PauseRecord | None:
        """The pause of a stream's queue, in its context or in all of them."""
        queue = queue_of(stream)
        everywhere = self._records.get((QUEUE, queue))
        return everywhere or self._records.get((QUEUE, f"{context_of(stream)}/{queue}"))

    def job(self, name: str) -> PauseRecord | None:
        return self._records.get((JOB, name))


class Pauses:
    """Reads and writes what rests, in the caller's transaction."""

    def __init__(self, tables: JobTables, database: Database, handlers: Handlers) -> None:
        self._handlers = handlers
        pauses, live = tables.pauses, tables.work.live
        this = (pauses.c.kind == bindparam("of_kind"), pauses.c.name == bindparam("of_name"))
        told = (pauses.c.kind, pauses.c.name, pauses.c.author, pauses.c.reason, pauses.c.since)
        self._all = select(*told).order_by(pauses.c.since, pauses.c.kind, pauses.c.name)
        self._this = select(*told).where(*this)
        self._add = database.add_missing(pauses).values(since=database.now)
        self._lift = delete(pauses).where(*this)
        held: tuple[ColumnElement[bool], ...] = (
            in_state(live, HELD),
            live.c.strand == NO_KEY,
            live.c.lane == UNORDERED,
        )
        ready = {"state": READY, "updated_at": database.now}
        names: BindParameter[str] = bindparam("names", expanding=True)
        self._ready = update(live).where(*held, live.c.handler.in_(names)).values(**ready)
        self._found = select(live.c.handler).distinct().where(*held)

    def read(self, connection: Connection) -> Paused:
        """All that rests now."""
        return Paused(PauseRecord(*row) for row in connection.execute(self._all))

    def put(self, connection: Connection, kind: str, name: str, by: str, reason: str) -> bool:
        """Let it rest; False where it does already, by the word of whoever was first."""
        this = {"of_kind": kind, "of_name": name}
        if connection.execute(self._this, this).first() is not None:
            return False
        values = {"kind": kind, "name": name, "author": by[:255], "reason": reason}
        connection.execute(self._add, values)
        return True

    def lift(self, connection: Connection, kind: str, name: str) -> bool:
        """Let it go on; False where it did not rest."""
        this = {"of_kind": kind, "of_name": name}
        return bool(connection.execute(self._lift, this).rowcount)

    def ready(self, connection: Connection, job: str) -> int:
        """Ready what was held because the job rested; answers how many."""
        names = list(names_of(job, self._handlers()))
        return connection.execute(self._ready, {"names": names}).rowcount

    def ready_forgotten(self, connection: Connection, paused: Paused) -> int:
        """The same for every job that rests no longer: workers that did not know yet held them.

        Reads all that is held because of pauses: to be done seldom.
        """
        known = self._handlers()
        jobs = [one.name for one in paused if one.kind == JOB]
        resting = {name for job in jobs for name in names_of(job, known)}
        held = connection.execute(self._found).scalars()
        gone_on = sorted(name for name in held if name is not None and name not in resting)
        if not gone_on:
            return 0
        return connection.execute(self._ready, {"names": gone_on}).rowcount
