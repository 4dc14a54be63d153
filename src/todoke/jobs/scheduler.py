"""Enqueues recurring jobs: once per tick, however many workers run this, whoever dies when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row

from todoke import crash
from todoke.database import reading
from todoke.jobs.due import gather
from todoke.jobs.schedule import Schedule
from todoke.jobs.tick_writer import TickWriter
from todoke.jobs.ticks import Looked, described_by

_SOON, _LONGEST_REST = 0.1, 5.0
_SECOND = timedelta(seconds=1)


class Scheduler:
    """Accounts for every tick that is due; any number of them may run, none of them leads."""

    def __init__(self, schedules: Sequence[Schedule], writer: TickWriter, *, poll: float) -> None:
        self._schedules, self._writer, self._poll = schedules, writer, poll
        self._ledger = writer.ledger
        self._next: dict[str, tuple[datetime, datetime | None]] = {}
        self.accounted: int = 0
        """Rows of the tick ledger that this one has written."""

    def tick(self, connection: Connection) -> float:
        """Account for a bounded piece of each schedule; answers how long to rest."""
        if not self._schedules:
            return _LONGEST_REST
        with reading(connection):
            looked = self._ledger.look(connection)
        rests = [self._attend(connection, one, looked) for one in self._schedules]
        return min(rests)

    def catch_up(self, connection: Connection) -> int:
        """Account for all that is due; answers how many rows were written."""
        before = self.accounted
        while self.tick(connection) == 0.0:
            pass
        return self.accounted - before

    def _attend(self, connection: Connection, schedule: Schedule, looked: Looked) -> float:
        seen = looked.schedules.get(schedule.name)
        if seen is None:
            with connection.begin():
                self._ledger.add(connection, schedule)
            return 0.0
        due = self._next_due(schedule, seen.accounted)
        if due is not None and due <= looked.now:
            return self._account(connection, schedule, seen, looked.now)
        if looked.waiting.get(schedule.name):
            if self._may_begin(connection, schedule, seen):
                return self._account(connection, schedule, seen, looked.now)
            return min(self._poll, _rest(due, looked.now))
        if any(getattr(seen, name) != now for name, now in described_by(schedule).items()):
            with connection.begin():
                self._ledger.describe(connection, schedule)
        return _rest(due, looked.now)

    def _account(
        self, connection: Connection, schedule: Schedule, seen: Row[Any], now: datetime
    ) -> float:
        """All or nothing: ticks, their jobs, and how far the schedule is accounted for."""
        # Outside of the transaction: counting may take a while, and others wait to write.
        gathered = gather(schedule.timetable, seen.accounted, now, schedule.cap)
        with connection.begin():
            locked = self._ledger.lock_if_free(connection, schedule.name)
            if locked is None:
                return _SOON  # it is somebody's who may die of it
            if locked.accounted != seen.accounted:
                return 0.0
            judge = self._writer.judge(connection, schedule, locked.last_job, now)
            rows = self._writer.change(connection, schedule, judge.begin_waiting())
            passed = [] if gathered.passed is None else [judge.passed(gathered.passed)]
            verdicts = [*passed, *judge.judge(gathered.dues)]
            rows += self._writer.add(connection, schedule, verdicts)
            self._ledger.account(connection, schedule, locked.after(rows, gathered.end))
            crash.point("tick.before_commit")
        crash.point("tick.after_commit")
        self.accounted += len(rows)
        return 0.0

    def _may_begin(self, connection: Connection, schedule: Schedule, seen: Row[Any]) -> bool:
        """Looked at without a lock: what waits may wait for long."""
        if schedule.silenced is not None:
            return False
        with reading(connection):
            if self._ledger.pause_of(connection, schedule.name) is not None:
                return False
            going = self._ledger.going(connection, seen.last_job)
        return going is None or schedule.overlap == "allow"

    def _next_due(self, schedule: Schedule, accounted: datetime) -> datetime | None:
        """Computed once for each moment: a timetable takes its time to answer."""
        known = self._next.get(schedule.name)
        if known is None or known[0] != accounted:
            due = next((one.at for one in schedule.timetable.after(accounted)), None)
            known = self._next[schedule.name] = (accounted, due)
        return known[1]


def _rest(due: datetime | None, now: datetime) -> float:
    if due is None:
        return _LONGEST_REST
    return min(_LONGEST_REST, max((due - now) / _SECOND, 0.001))
