"""The tick ledger: how far each schedule is accounted for, and what became of every due time.

All of it is rows, so a scheduler may die between any two statements. Whoever writes has locked the
schedule's row; `accounted`, ticks and jobs are written in one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    Connection,
    Row,
    bindparam,
    func,
    insert,
    literal,
    literal_column,
    select,
    update,
)

from todoke.clock import SystemClock
from todoke.database import UNIQUE_ID, Database, Moment
from todoke.jobs.pauses import SCHEDULE
from todoke.jobs.schedule import Schedule
from todoke.jobs.table import JobTables
from todoke.jobs.ties import ties_of
from todoke.jobs.verdict import WAITING, Verdict, run_of


@dataclass(frozen=True, slots=True)
class Looked:
    """What a scheduler sees at one moment, without locks."""

    now: datetime
    schedules: Mapping[str, Row[Any]]
    waiting: Mapping[str, int]


class Standing(NamedTuple):
    """How far a schedule is accounted for, and which job its next tick must not overlap with."""

    accounted: datetime
    last_job: UUID | None

    def after(
        self, rows: Sequence[tuple[Verdict, UUID | None]], until: datetime | None = None
    ) -> Standing:
        jobs = [job for _, job in rows if job is not None]
        return Standing(until or self.accounted, jobs[-1] if jobs else self.last_job)


class TickLedger:
    """Reads and writes schedules and ticks of one application."""

    def __init__(self, tables: JobTables, database: Database, application: str) -> None:
        self.application: str = application
        self.tables: JobTables = tables
        schedules, ticks, pauses = tables.schedules, tables.ticks, tables.pauses
        live, clock = tables.work.live, database.clock
        now = database.now
        ours = schedules.c.application == application
        this = (ours, schedules.c.name == bindparam("of_name"))
        self._now = select(now)
        self._all = select(schedules).where(ours)
        self._this = select(schedules).where(*this)
        self._lock = select(schedules).where(*this).with_for_update()
        self._lock_if_free = select(schedules).where(*this).with_for_update(skip_locked=True)
        # Under a test's clock it begins with the application: what a test advances by is due.
        since = now if isinstance(clock, SystemClock) else literal(clock.now(), Moment())
        self._add = database.add_missing(schedules).values(
            application=application, accounted=since, updated_at=now
        )
        told = ("context", "job", "timetable", "zone", "policy")
        described: dict[str, Any] = {name: bindparam(f"new_{name}") for name in told}
        self._describe = update(schedules).where(*this).values(**described, updated_at=now)
        self._account = (
            update(schedules)
            .where(*this)
            .values(
                **described,
                accounted=bindparam("new_accounted", type_=Moment()),
                last_job=bindparam("new_last_job", type_=UNIQUE_ID),
                updated_at=now,
            )
        )
        self._insert = insert(ticks).values(application=application, noted_at=now)
        self._of = (ticks.c.application == application, ticks.c.schedule == bindparam("of_name"))
        self._change = (
            update(ticks)
            .where(*self._of, ticks.c.due == bindparam("of_due", type_=Moment()))
            .values(
                status=bindparam("new_status"),
                reason=bindparam("new_reason"),
                job_id=bindparam("new_job", type_=UNIQUE_ID),
            )
        )
        # Written out: the index of those is used only where the planner sees which they are.
        waits = ticks.c.status == literal_column(f"'{WAITING}'")
        self._waiting_ones = (
            select(ticks.c.due, ticks.c.reason, ticks.c.noted_at)
            .where(*self._of, waits)
            .order_by(ticks.c.due)
            .limit(bindparam("at_most"))
        )
        count = func.count().label("ticks")
        all_waiting = (ticks.c.application == application, waits)
        self._waiting = (
            select(ticks.c.schedule, count).where(*all_waiting).group_by(ticks.c.schedule)
        )
        self._pause = select(pauses).where(
            pauses.c.kind == SCHEDULE, pauses.c.name == bindparam("of_pause")
        )
        self._living = select(live.c.headers).where(
            live.c.message_id == bindparam("of_job", type_=UNIQUE_ID)
        )

    # --- looking -----------------------------------------------------------------------------

    def now(self, connection: Connection) -> datetime:
        found: datetime = connection.execute(self._now).scalar_one()
        return found

    def look(self, connection: Connection) -> Looked:
        now = self.now(connection)
        schedules = {row.name: row for row in connection.execute(self._all)}
        waiting = {row.schedule: row.ticks for row in connection.execute(self._waiting)}
        return Looked(now, schedules, waiting)

    def pause_of(self, connection: Connection, name: str) -> Row[Any] | None:
        return connection.execute(self._pause, {"of_pause": self.pause_name(name)}).first()

    def pause_name(self, schedule: str) -> str:
        """Applications that share a database may have schedules of one name."""
        return f"{self.application}/{schedule}"

    def going(self, connection: Connection, job: UUID | None) -> str | None:
        """Which run is going on, if this job has not ended."""
        if job is None:
            return None
        found = connection.execute(self._living, {"of_job": job}).first()
        return None if found is None else run_of(ties_of(found.headers).tick)

    def waiting(self, connection: Connection, name: str, at_most: int) -> Sequence[Row[Any]]:
        """Ticks that wait for the run before them, oldest first."""
        values = {"of_name": name, "at_most": at_most}
        return list(connection.execute(self._waiting_ones, values))

    # --- writing -----------------------------------------------------------------------------

    def add(self, connection: Connection, schedule: Schedule) -> None:
        """A schedule that nobody knew begins now."""
        connection.execute(self._add, {"name": schedule.name, **described_by(schedule)})

    def find(self, connection: Connection, name: str) -> Standing | None:
        return _standing(connection.execute(self._this, {"of_name": name}).first())

    def lock(self, connection: Connection, name: str) -> Standing | None:
        """Wait for whoever has it."""
        return _standing(connection.execute(self._lock, {"of_name": name}).first())

    def lock_if_free(self, connection: Connection, name: str) -> Standing | None:
        return _standing(connection.execute(self._lock_if_free, {"of_name": name}).first())

    def describe(self, connection: Connection, schedule: Schedule) -> None:
        """What is declared by now."""
        connection.execute(self._describe, _new(schedule))

    def account(self, connection: Connection, schedule: Schedule, standing: Standing) -> None:
        values = {"new_accounted": standing.accounted, "new_last_job": standing.last_job}
        connection.execute(self._account, {**_new(schedule), **values})

    def insert(
        self, connection: Connection, name: str, rows: Sequence[tuple[Verdict, UUID | None]]
    ) -> None:
        if rows:
            connection.execute(self._insert, [_row(name, one, job) for one, job in rows])

    def change(self, connection: Connection, name: str, verdict: Verdict, job: UUID | None) -> None:
        """A tick that waited, or was given up, is enqueued after all."""
        place = {"of_name": name, "of_due": verdict.due}
        told = {"new_status": verdict.status, "new_reason": verdict.reason, "new_job": job}
        connection.execute(self._change, {**place, **told})


def described_by(schedule: Schedule) -> dict[str, Any]:
    return {
        "context": schedule.handler.context,
        "job": schedule.handler.name,
        "timetable": schedule.timetable.text,
        "zone": schedule.timetable.zone,
        "policy": schedule.policy,
    }


def _standing(row: Row[Any] | None) -> Standing | None:
    return None if row is None else Standing(row.accounted, row.last_job)


def _new(schedule: Schedule) -> dict[str, Any]:
    told = {f"new_{name}": value for name, value in described_by(schedule).items()}
    return {"of_name": schedule.name, **told}


def _row(name: str, verdict: Verdict, job: UUID | None) -> dict[str, Any]:
    return {
        "schedule": name,
        "due": verdict.due,
        "last_due": verdict.last_due,
        "count": verdict.count,
        "status": verdict.status,
        "reason": verdict.reason,
        "job_id": job,
    }
