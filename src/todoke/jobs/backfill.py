"""Ticks of the past that did not run, enqueued after all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Row, bindparam, delete, select, update

from todoke.database import Moment
from todoke.errors import InvalidOption
from todoke.jobs.schedule import MOST_CAP, Schedule
from todoke.jobs.tick_writer import TickWriter
from todoke.jobs.ticks import Standing
from todoke.jobs.verdict import LATE, RAN, WAITING, Judge, Verdict

MOST_LOOKED_AT = 50_000
_MICROSECOND = timedelta(microseconds=1)
_TAKEN = (RAN, LATE, WAITING)


@dataclass(frozen=True, slots=True)
class Backfilled:
    """One tick of a backfill: what it was, and what it is or would be."""

    due: datetime
    was: str | None
    """None where the ledger knows nothing of it."""
    status: str
    job_id: UUID | None = None


class Wanted(NamedTuple):
    """What a person asks for."""

    start: datetime
    end: datetime
    why: str
    cap: int


class Backfilling:
    """Finds and enqueues them, in the transaction that has locked their schedule."""

    def __init__(self, writer: TickWriter) -> None:
        self._writer, self._ledger = writer, writer.ledger
        ticks = writer.ledger.tables.ticks
        here = (
            ticks.c.application == self._ledger.application,
            ticks.c.schedule == bindparam("of_name"),
        )
        start, end = bindparam("start", type_=Moment()), bindparam("end", type_=Moment())
        this = ticks.c.due == bindparam("of_due", type_=Moment())
        self._rows = select(ticks).where(
            *here, ticks.c.due <= end, (ticks.c.due >= start) | (ticks.c.last_due >= start)
        )
        self._forget = delete(ticks).where(*here, this)
        self._shorten = (
            update(ticks)
            .where(*here, this)
            .values(
                due=bindparam("new_due", type_=Moment()),
                last_due=bindparam("new_last", type_=Moment()),
                count=bindparam("new_count"),
            )
        )

    def preview(
        self, connection: Connection, schedule: Schedule, standing: Standing, wanted: Wanted
    ) -> Sequence[Backfilled]:
        """What it would do; writes nothing."""
        past = self._past(connection, schedule, standing, wanted)
        verdicts = self._verdicts(connection, schedule, standing, past.dues, wanted.why)
        return [Backfilled(one.due, past.was(one.due), one.status) for one in verdicts]

    def run(
        self, connection: Connection, schedule: Schedule, standing: Standing, wanted: Wanted
    ) -> Sequence[Backfilled]:
        past = self._past(connection, schedule, standing, wanted)
        verdicts = self._verdicts(connection, schedule, standing, past.dues, wanted.why)
        self._make_room(connection, schedule, past)
        rows = self._writer.add(connection, schedule, verdicts)
        self._ledger.account(connection, schedule, standing.after(rows))
        return [Backfilled(one.due, past.was(one.due), one.status, job) for one, job in rows]

    def _past(
        self, connection: Connection, schedule: Schedule, standing: Standing, wanted: Wanted
    ) -> _Past:
        _check(schedule, wanted)
        # What is due later than that, the scheduler has not come to yet.
        end = min(wanted.end, standing.accounted)
        past = _Past(schedule, self._rows_of(connection, schedule, wanted.start, end))
        past.choose(wanted, end)
        return past

    def _rows_of(
        self, connection: Connection, schedule: Schedule, start: datetime, end: datetime
    ) -> list[Row[Any]]:
        """Those of the span, and all within the stretches that reach into it."""
        values = {"of_name": schedule.name, "start": start, "end": end}
        rows = list(connection.execute(self._rows, values))
        if stretches := [row for row in rows if _count(row) > 1]:
            values["start"] = min(start, *(row.due for row in stretches))
            values["end"] = max(end, *(row.last_due for row in stretches))
            rows = list(connection.execute(self._rows, values))
        return rows

    def _verdicts(
        self,
        connection: Connection,
        schedule: Schedule,
        standing: Standing,
        dues: Sequence[datetime],
        why: str,
    ) -> list[Verdict]:
        now = self._ledger.now(connection)
        judge = self._writer.judge(connection, schedule, standing.last_job, now)
        return [_verdict(judge, due, why) for due in dues]

    def _make_room(self, connection: Connection, schedule: Schedule, past: _Past) -> None:
        """Rows of their own instead of those that told that they did not run."""
        here = {"of_name": schedule.name}
        for due in past.dues:
            if due in past.single:
                connection.execute(self._forget, {**here, "of_due": due})
        for stretch in past.stretches:
            if (rest := past.rest_of(stretch)) is None:
                connection.execute(self._forget, {**here, "of_due": stretch.due})
            else:
                connection.execute(self._shorten, {**here, "of_due": stretch.due, **rest})


class _Past:
    """What the ledger says of a span of time, and which ticks of it are wanted."""

    def __init__(self, schedule: Schedule, rows: Sequence[Row[Any]]) -> None:
        self._schedule = schedule
        self.single: Mapping[datetime, Row[Any]] = {
            row.due: row for row in rows if _count(row) == 1
        }
        self.stretches: Sequence[Row[Any]] = [row for row in rows if _count(row) > 1]
        self.dues: Sequence[datetime] = ()

    def choose(self, wanted: Wanted, end: datetime) -> None:
        between = self._schedule.timetable.between(wanted.start - _MICROSECOND, end)
        looked_at = [due.at for due in islice(between, MOST_LOOKED_AT + 1)]
        self.dues = [due for due in looked_at if self.was(due) not in _TAKEN]
        if len(looked_at) > MOST_LOOKED_AT or len(self.dues) > wanted.cap:
            raise InvalidOption(
                "backfill",
                f"{len(self.dues):,} ticks of {self._schedule.name}",
                f"more than cap = {wanted.cap:,}. Choose a shorter time, or raise the cap.",
            )

    def was(self, due: datetime) -> str | None:
        row = self.single.get(due) or self._stretch_of(due)
        return None if row is None else str(row.status)

    def rest_of(self, stretch: Row[Any]) -> dict[str, Any] | None:
        """The stretch without those that are wanted; None where nothing is left of it."""
        gone = {due for due in self.dues if self._stretch_of(due) is stretch}
        if (count := _count(stretch) - len(gone)) <= 0:
            return None
        # Its time is its first tick's, and the key of its row.
        first = stretch.due if stretch.due not in gone else self._first_left(stretch, gone)
        last = None if count == 1 else stretch.last_due
        return {"new_due": first, "new_last": last, "new_count": count}

    def _first_left(self, stretch: Row[Any], gone: set[datetime]) -> datetime:
        walk = self._schedule.timetable.between(stretch.due, stretch.last_due)
        left = (due.at for due in walk if due.at not in gone and due.at not in self.single)
        # None where the timetable is another by now: a moment that no other row has.
        return next(left, stretch.due + _MICROSECOND)

    def _stretch_of(self, due: datetime) -> Row[Any] | None:
        if due in self.single:
            return None
        return next((one for one in self.stretches if one.due <= due <= one.last_due), None)


def _count(row: Row[Any]) -> int:
    """Rows have a method of that name."""
    return int(row._mapping["count"])


def _check(schedule: Schedule, wanted: Wanted) -> None:
    if wanted.end < wanted.start:
        raise InvalidOption("backfill", f"{wanted.start} to {wanted.end}", "ends before it starts.")
    if not 1 <= wanted.cap <= MOST_CAP:
        raise InvalidOption("backfill(cap)", wanted.cap, f"1 to {MOST_CAP:,}.")
    if not schedule.handler.enabled:
        raise InvalidOption("backfill", schedule.name, f"{schedule.silenced}. Switch it on first.")


def _verdict(judge: Judge, due: datetime, why: str) -> Verdict:
    act = judge.begin if judge.is_free else judge.put_off
    return act(due, missed=True, reason=why)
