"""What people ask of schedules: when they are due, what became of ticks; run, pause, backfill.

What acts takes an author and a reason; both stand in the tick ledger, and with what people did to
jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, select

from todoke.both import both
from todoke.clock import Clock
from todoke.dead_letters.operations import Operations, check_author
from todoke.errors import InvalidOption, NotFound
from todoke.jobs.backfill import Backfilled, Backfilling, Wanted
from todoke.jobs.pauses import SCHEDULE, Pauses
from todoke.jobs.schedule import Schedule
from todoke.jobs.tick_writer import TickWriter
from todoke.jobs.ticks import Standing
from todoke.jobs.timetable import Due
from todoke.jobs.verdict import SKIPPED, Judge, Verdict

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """One schedule, and how it stands."""

    name: str
    job: str
    context: str
    timetable: str
    zone: str
    policy: str
    is_off: bool
    """Configuration says so, of the schedule or of its job."""
    next_due: datetime | None
    waiting: int
    """Ticks that wait for the run before them."""
    last_due: datetime | None
    last_status: str | None
    last_reason: str | None
    paused_by: str | None
    paused_reason: str | None
    paused_since: datetime | None


@dataclass(frozen=True, slots=True)
class TickRecord:
    """What became of one due time; or of many, from `due` to `last_due`, that share their fate."""

    schedule: str
    due: datetime
    last_due: datetime | None
    count: int
    status: str
    reason: str | None
    job_id: UUID | None
    noted_at: datetime


class Schedules:
    """Looks at schedules and acts on them; sync and async handles alike."""

    def __init__(
        self,
        declared: Callable[[], Mapping[str, Schedule]],
        writer: TickWriter,
        pauses: Pauses,
        operations: Operations,
        clock: Clock,
    ) -> None:
        self.writer: TickWriter = writer
        self._declared, self._pauses, self._operations = declared, pauses, operations
        self._clock, self._ledger = clock, writer.ledger
        self._backfilling = Backfilling(writer)

    # --- when --------------------------------------------------------------------------------

    def next(self, name: str, count: int = 10, *, after: datetime | None = None) -> Sequence[Due]:
        """The next due times, with marks where the clock is changed; asks no database."""
        start = self._clock.now() if after is None else after
        return list(islice(self._find(name).timetable.after(start), count))

    def between(self, name: str, start: datetime, end: datetime) -> Sequence[Due]:
        """What is due later than start, and not later than end; asks no database."""
        return list(self._find(name).timetable.between(start, end))

    def soonest(self, after: datetime) -> datetime | None:
        """The first due time of all of them."""
        firsts = (next(one.timetable.after(after), None) for one in self._declared().values())
        return min((first.at for first in firsts if first is not None), default=None)

    # --- how they stand ----------------------------------------------------------------------

    @both
    def list(self, connection: Connection) -> Sequence[ScheduleRecord]:
        """All that the application declares, by name."""
        looked = self._ledger.look(connection)
        return [
            self._stand(connection, schedule, looked.now, looked.waiting.get(name, 0))
            for name, schedule in sorted(self._declared().items())
        ]

    @both
    def ticks(self, connection: Connection, name: str, limit: int = 50) -> Sequence[TickRecord]:
        """What became of due times, newest first."""
        self._find(name)
        ticks = self._ledger.tables.ticks
        here = (ticks.c.application == self._ledger.application, ticks.c.schedule == name)
        rows = select(ticks).where(*here).order_by(ticks.c.due.desc()).limit(limit)
        return [_tick(row) for row in connection.execute(rows)]

    # --- acts --------------------------------------------------------------------------------

    @both
    def run(self, connection: Connection, name: str, *, by: str, reason: str) -> TickRecord:
        """Enqueue it now; where runs do not overlap, behind the one that is going on."""
        check_author(by, reason)
        schedule, why = self._find(name), f"run by {by}: {reason}"
        standing = self._lock(connection, schedule)
        now = self._ledger.now(connection)
        at_once = replace(schedule, jitter=timedelta(0))
        judge = self.writer.judge(connection, at_once, standing.last_job, now)
        verdict = self._by_hand(schedule, judge, self._free_moment(connection, name, now), why)
        rows = self.writer.add(connection, schedule, [verdict])
        self._ledger.account(connection, schedule, standing.after(rows))
        self._record(connection, "run", name, 1, by, reason)
        return self._tick_at(connection, name, verdict.due)

    @both
    def pause(self, connection: Connection, name: str, *, by: str, reason: str) -> bool:
        """Skip its ticks until it is resumed; False where it rests already."""
        check_author(by, reason)
        self._find(name)
        resting = self._ledger.pause_name(name)
        rests = self._pauses.put(connection, SCHEDULE, resting, by, reason)
        if rests:
            self._record(connection, "pause", name, 1, by, reason)
        return rests

    @both
    def resume(self, connection: Connection, name: str, *, by: str, reason: str) -> bool:
        """Let its next tick be enqueued again; False where it did not rest."""
        check_author(by, reason)
        self._find(name)
        goes_on = self._pauses.lift(connection, SCHEDULE, self._ledger.pause_name(name))
        if goes_on:
            self._record(connection, "resume", name, 1, by, reason)
        return goes_on

    @both
    def backfill(
        self,
        connection: Connection,
        name: str,
        start: datetime,
        end: datetime,
        *,
        by: str,
        reason: str,
        dry_run: bool = False,
        cap: int = 100,
    ) -> Sequence[Backfilled]:
        """Enqueue what was due from start to end and did not run; more than `cap` is refused."""
        check_author(by, reason)
        schedule, why = self._find(name), f"backfill by {by}: {reason}"
        wanted = Wanted(_aware(start, "start"), _aware(end, "end"), why, cap)
        if not dry_run:
            standing = self._lock(connection, schedule)
            done = self._backfilling.run(connection, schedule, standing, wanted)
            self._record(connection, "backfill", name, len(done), by, reason)
            return done
        found = self._ledger.find(connection, name)
        standing = found or Standing(self._ledger.now(connection), None)
        return self._backfilling.preview(connection, schedule, standing, wanted)

    # --- parts -------------------------------------------------------------------------------

    def _find(self, name: str) -> Schedule:
        known = self._declared()
        if name not in known:
            raise NotFound("schedule", name)
        return known[name]

    def _lock(self, connection: Connection, schedule: Schedule) -> Standing:
        standing = self._ledger.lock(connection, schedule.name)
        if standing is None:
            self._ledger.add(connection, schedule)
            standing = self._ledger.lock(connection, schedule.name)
        assert standing is not None  # noqa: S101
        return standing

    def _by_hand(self, schedule: Schedule, judge: Judge, due: datetime, why: str) -> Verdict:
        """A person may run what rests; what configuration has switched off stays off."""
        if not schedule.handler.enabled:
            return Verdict(due, SKIPPED, f"{schedule.silenced}; {why}")
        if judge.is_free:
            return judge.begin(due, missed=False, reason=why)
        return judge.put_off(due, missed=False, reason=why)

    def _free_moment(self, connection: Connection, name: str, now: datetime) -> datetime:
        """Never a whole second: that may be a due time, which has a row of its own."""
        moment = now if now.microsecond else now + _MICROSECOND
        while self._row_at(connection, name, moment) is not None:
            moment += _MICROSECOND
        return moment

    def _row_at(self, connection: Connection, name: str, due: datetime) -> Row[Any] | None:
        ticks = self._ledger.tables.ticks
        here = (ticks.c.application == self._ledger.application, ticks.c.schedule == name)
        return connection.execute(select(ticks).where(*here, ticks.c.due == due)).first()

    def _tick_at(self, connection: Connection, name: str, due: datetime) -> TickRecord:
        row = self._row_at(connection, name, due)
        assert row is not None  # noqa: S101
        return _tick(row)

    def _record(
        self, connection: Connection, kind: str, name: str, count: int, by: str, reason: str
    ) -> None:
        self._operations.record(connection, kind, {"schedule": name}, count, by, reason)

    def _stand(
        self, connection: Connection, schedule: Schedule, now: datetime, waiting: int
    ) -> ScheduleRecord:
        last = next(iter(self.ticks(connection, schedule.name, 1)), None)
        pause = self._ledger.pause_of(connection, schedule.name)
        due = next(schedule.timetable.after(now), None)
        return ScheduleRecord(
            schedule.name,
            schedule.handler.name,
            schedule.handler.context,
            schedule.timetable.text,
            schedule.timetable.zone,
            schedule.policy,
            schedule.silenced is not None,
            None if due is None or schedule.silenced else due.at,
            waiting,
            None if last is None else last.last_due or last.due,
            None if last is None else last.status,
            None if last is None else last.reason,
            None if pause is None else pause.author,
            None if pause is None else pause.reason,
            None if pause is None else pause.since,
        )


def _tick(row: Row[Any]) -> TickRecord:
    return TickRecord(**{name: row._mapping[name] for name in TickRecord.__dataclass_fields__})


def _aware(moment: datetime, option: str) -> datetime:
    if moment.tzinfo is None:
        raise InvalidOption(option, str(moment), "a time without a zone. Use datetime(…, UTC).")
    return moment.astimezone(UTC)
