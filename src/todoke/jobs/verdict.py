"""What becomes of a tick: decided from the schedule, the time and what is going on, nothing else.

RAN      enqueued in time
LATE     enqueued later than that
WAITING  will be enqueued when the run before it has ended
SKIPPED  not enqueued on purpose, and the reason says whose
MISSED   nobody was there when it was due, and the policy does not ask for it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row

from todoke.jobs.due import Stretch
from todoke.jobs.row import Spec
from todoke.jobs.run import Tick
from todoke.jobs.schedule import Schedule
from todoke.telemetry import log, masked

RAN, LATE, WAITING, SKIPPED, MISSED = "RAN", "LATE", "WAITING", "SKIPPED", "MISSED"
FEW = 100
"""Up to so many that share their fate have a row each; more of them have one together."""

_LONGEST_REASON = 1000
_NOBODY = "no worker ran when it was due"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One row of the tick ledger, before it is written."""

    due: datetime
    status: str
    reason: str | None = None
    last_due: datetime | None = None
    count: int = 1
    missed: bool = False
    """It is caught up."""
    spec: Spec | None = None
    """The job to be enqueued with it."""


class Judge:
    """Judges the ticks of one schedule at one moment, oldest first."""

    def __init__(
        self,
        schedule: Schedule,
        now: datetime,
        late_after: timedelta,
        prepare: Callable[[Schedule, Tick], Spec],
        *,
        blocked: str | None,
        going: str | None,
        waiting: Sequence[Row[Any]],
    ) -> None:
        self._schedule, self._now, self._late_after = schedule, now, late_after
        self._prepare = prepare
        self.blocked: str | None = blocked
        """Why nothing is enqueued at present."""
        self.queue: Sequence[Row[Any]] = waiting
        """Ticks that wait for the run before them."""
        self._going, self._waiting = going, len(waiting)

    @property
    def is_free(self) -> bool:
        """Another run may begin."""
        return self._going is None or self._schedule.overlap == "allow"

    def passed(self, stretch: Stretch) -> Verdict:
        """So many at once that none of these can be asked for."""
        status, reason = MISSED, self._why_missed
        if self.blocked is not None:
            status, reason = SKIPPED, self.blocked
        return Verdict(stretch.first, status, reason, stretch.last, stretch.count)

    def judge(self, dues: Sequence[datetime]) -> list[Verdict]:
        if self.blocked is not None:
            return _together(dues, SKIPPED, self.blocked)
        late = sum(map(self.is_late, dues))
        wanted = self._wanted(dues, late)
        others = dues[: len(dues) - len(wanted)]
        waits = self._schedule.overlap == "queue" or (late > 0 and self._schedule.missed == "all")
        turns = [self._turn(due, waits=waits) for due in wanted]
        return [*_together(others, MISSED, self._why_missed), *turns]

    def begin(self, due: datetime, *, missed: bool, reason: str | None = None) -> Verdict:
        """Enqueue it now; an argument that cannot be made skips the tick, and no other."""
        tick = Tick(due, max(timedelta(0), self._now - due), missed)
        try:
            spec = self._prepare(self._schedule, tick)
        except Exception as error:
            name = self._schedule.name
            log.exception("schedule %s: the argument for %s cannot be made", name, due)
            told = f"its argument cannot be made: {type(error).__name__}: {error}"
            return Verdict(due, SKIPPED, masked(told[:_LONGEST_REASON]))
        self._going = run_of(due)
        status = LATE if self.is_late(due) else RAN
        return Verdict(due, status, reason, missed=missed, spec=spec)

    def begin_waiting(self) -> list[Verdict]:
        """Those whose turn has come: one, or all where runs may overlap."""
        begun: list[Verdict] = []
        for row in self.queue if self.blocked is None else ():
            if not self.is_free:
                break
            self._waiting -= 1
            missed = row.noted_at - row.due > self._late_after
            begun.append(self.begin(row.due, missed=missed, reason=row.reason))
        return begun

    def put_off(self, due: datetime, *, missed: bool, reason: str | None = None) -> Verdict:
        """Let it wait for the run before it."""
        self._waiting += 1
        return Verdict(due, WAITING, reason or f"behind {self._going}", missed=missed)

    def is_late(self, due: datetime) -> bool:
        return self._now - due > self._late_after

    def _wanted(self, dues: Sequence[datetime], late: int) -> Sequence[datetime]:
        """The newest ones, as many as the policy asks for."""
        match self._schedule.missed:
            case "skip":
                dues = dues[late:]
            case "latest" if late:
                dues = dues[-1:]
        return dues[-self._schedule.cap :]

    def _turn(self, due: datetime, *, waits: bool) -> Verdict:
        """What is wanted, as far as the run before it allows."""
        missed, cap = self.is_late(due), self._schedule.cap
        if self.is_free:
            return self.begin(due, missed=missed, reason="caught up" if missed else None)
        if not waits:
            return Verdict(due, SKIPPED, f"{self._going} is still going")
        if self._waiting < cap:
            return self.put_off(due, missed=missed)
        return Verdict(due, MISSED, f"cap = {cap} wait already")

    @property
    def _why_missed(self) -> str:
        match self._schedule.missed:
            case "latest":
                return f"{_NOBODY}; only the latest is caught up"
            case "all":
                return f"{_NOBODY}; only the latest {self._schedule.cap} are caught up"
        return _NOBODY


def run_of(due: datetime | None) -> str:
    return "a run" if due is None else f"the run of {due:%Y-%m-%d %H:%M:%S} UTC"


def _together(dues: Sequence[datetime], status: str, reason: str) -> list[Verdict]:
    if len(dues) <= FEW:
        return [Verdict(due, status, reason) for due in dues]
    return [Verdict(dues[0], status, reason, dues[-1], len(dues))]
