"""What is due by now of one timetable: one by one, or, of very many, the older ones as a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from todoke.jobs.timetable import Interval, Timetable

AT_ONCE, LEFT = 5_000, 2_500
"""So many are looked at in one piece, of which so many are left to be judged one by one."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Ticks that one row stands for."""

    first: datetime
    last: datetime
    count: int


@dataclass(frozen=True, slots=True)
class Gathered:
    """Later than one moment and not later than another."""

    passed: Stretch | None
    """Those for which nobody can be called any more: more than `keep` newer ones are due."""
    dues: Sequence[datetime]
    """Those after them; none where there are so many that they are to be gathered next."""

    @property
    def end(self) -> datetime | None:
        """How far this goes."""
        if self.dues:
            return self.dues[-1]
        return self.passed.last if self.passed else None


def gather(timetable: Timetable, start: datetime, end: datetime, keep: int) -> Gathered:
    if isinstance(timetable, Interval):
        return _counted(timetable, start, end, keep)
    most = AT_ONCE + keep
    dues = [due.at for due in islice(timetable.between(start, end), most + 1)]
    if len(dues) <= most:
        return Gathered(None, dues)
    count = AT_ONCE - LEFT
    return Gathered(Stretch(dues[0], dues[count - 1], count), ())


def _counted(interval: Interval, start: datetime, end: datetime, keep: int) -> Gathered:
    """No need to walk where a division will do."""
    passed = None
    first = next((due.at for due in interval.between(start, end)), None)
    if first is not None and (total := (end - first) // interval.length + 1) > AT_ONCE + keep:
        count = total - keep - LEFT
        passed = Stretch(first, first + (count - 1) * interval.length, count)
        start = passed.last
    return Gathered(passed, [due.at for due in interval.between(start, end)])
