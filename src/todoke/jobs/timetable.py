"""When a recurring job is due: by a cron expression in a time zone, or every so often.

Nothing is stored and nobody is asked, so all processes agree. When a zone changes its clock:

- An expression that names times of the day keeps them. A time in the skipped hour is due once, at
  the first moment after it; several there, and one that falls on that moment, are one. A time in
  the repeated hour is due once, the first time.
- An expression whose minute or hour begins with `*` goes by elapsed time: nothing is due in the
  skipped hour, and the repeated hour counts twice.
- `every` counts from 1970 in UTC and knows no clock on a wall.

The seconds of six fields change nothing about that. An "hour" is as long as the change: half an
hour on Lord Howe Island, the whole of 30 December 2011 in Samoa.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import count, dropwhile, takewhile
from typing import Protocol
from zoneinfo import ZoneInfo

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption
from todoke.jobs.cron import GIVE_UP_YEARS, Expression, checked

SKIPPED, REPEATED = "skipped hour", "repeated hour"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ANY_DAY = datetime(2025, 1, 1, tzinfo=UTC)
"""Not today: all processes refuse alike."""
_SECOND, _LONGEST = timedelta(seconds=1), timedelta(days=36_500)
_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_OF_THIS_MACHINE = ("localtime", "posix", "right")
"""Files beside the zones, which name other zones elsewhere, or count leap seconds."""


@dataclass(frozen=True, slots=True)
class Due:
    """One moment at which a timetable is due."""

    at: datetime
    """In UTC."""
    local: datetime
    """The same moment in the timetable's zone."""
    mark: str
    """For people: whether the clock was changed about then; mostly empty."""


class Timetable(Protocol):
    """What is due when; equal ones are due alike."""

    @property
    def text(self) -> str: ...

    @property
    def zone(self) -> str: ...

    def after(self, moment: datetime) -> Iterator[Due]:
        """What is due strictly later, in order; without end unless it is never due again."""
        ...

    def between(self, start: datetime, end: datetime) -> Iterator[Due]:
        """What is due later than start, and not later than end."""
        ...


def timetable(
    *,
    cron: str | None = None,
    every: Duration | None = None,
    tz: str = "UTC",
    option: str = "schedule",
) -> Timetable:
    """What was declared, if it can be meant; the option's name goes into the refusal."""
    if (cron is None) == (every is None):
        said = "neither" if cron is None else "both"
        raise InvalidOption(option, said, 'say either cron="0 1 * * *" or every="5m".')
    _zone(tz, option)
    return Interval(_length(every, option), tz) if cron is None else _cron(cron, tz, option)


@dataclass(frozen=True, slots=True)
class Cron:
    """Due when the clock on the wall matches an expression."""

    text: str
    zone: str

    def after(self, moment: datetime) -> Iterator[Due]:
        zone = _zone(self.zone)
        expression = Expression(self.text, _start(_aware(moment), zone))
        walk = _at_fixed_times if expression.is_fixed else _by_elapsed_time
        return dropwhile(lambda due: due.at <= moment, _while_time_lasts(walk(expression, zone)))

    def between(self, start: datetime, end: datetime) -> Iterator[Due]:
        return takewhile(lambda due: due.at <= end, self.after(start))


@dataclass(frozen=True, slots=True)
class Interval:
    """Due at each multiple of a length of time since 1970."""

    length: timedelta
    zone: str

    @property
    def text(self) -> str:
        whole = int(self.length.total_seconds())
        unit, size = next((unit, size) for unit, size in _UNITS.items() if whole % size == 0)
        return f"every {whole // size}{unit}"

    def after(self, moment: datetime) -> Iterator[Due]:
        zone, first = _zone(self.zone), (_aware(moment) - _EPOCH) // self.length + 1
        moments = (_EPOCH + number * self.length for number in count(first))
        return _while_time_lasts(_due(each, zone) for each in moments)

    def between(self, start: datetime, end: datetime) -> Iterator[Due]:
        return takewhile(lambda due: due.at <= end, self.after(start))


# --- the clock on the wall -------------------------------------------------------------------


def _at_fixed_times(expression: Expression, zone: tzinfo) -> Iterator[Due]:
    shown = expression.dt
    for wall in expression:
        if wall > shown:
            due = _once(wall, zone)
            # Behind the skipped hour: what else falls into it is this one.
            shown = due.local.replace(tzinfo=None)
            yield due


def _by_elapsed_time(expression: Expression, zone: tzinfo) -> Iterator[Due]:
    again: deque[Due] = deque()
    year = expression.dt.year
    for wall in expression:
        first, second = _readings(wall, zone)
        if first > second:
            if wall.year > year + GIVE_UP_YEARS:
                break
            continue
        year = wall.year
        while again and again[0].at < first:
            yield again.popleft()
        yield Due(first, first.astimezone(zone), REPEATED if first < second else "")
        if first < second:
            again.append(Due(second, second.astimezone(zone), REPEATED))
    yield from again


def _once(wall: datetime, zone: tzinfo) -> Due:
    first, second = _readings(wall, zone)
    if first > second:
        moment = _change(second, first, zone)
        return Due(moment, moment.astimezone(zone), SKIPPED)
    return Due(first, first.astimezone(zone), REPEATED if first < second else "")


def _readings(wall: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """The moment it means: twice the same; two, if the clock shows it twice.

    If the clock skips it, the later one comes first, and the change lies between them (PEP 495).
    """
    local = wall.replace(tzinfo=zone, fold=0)
    return local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)


def _change(before: datetime, latest: datetime, zone: tzinfo) -> datetime:
    """The first second with another offset than before, at the latest the last one given."""
    offset = before.astimezone(zone).utcoffset()
    seconds = range((latest - before) // _SECOND)
    return before + _SECOND * bisect_left(
        seconds,
        True,
        key=lambda each: (before + _SECOND * each).astimezone(zone).utcoffset() != offset,
    )


def _start(moment: datetime, zone: tzinfo) -> datetime:
    """A local time from which nothing is missed: of the repeated hour, all comes once more."""
    wall = moment.astimezone(zone).replace(tzinfo=None)
    first, second = _readings(wall, zone)
    return wall - max(second - first, timedelta(0))


def _due(moment: datetime, zone: tzinfo) -> Due:
    local = moment.astimezone(zone)
    first, second = _readings(local, zone)
    return Due(moment, local, REPEATED if first < second else "")


def _while_time_lasts(dues: Iterator[Due]) -> Iterator[Due]:
    with suppress(OverflowError):  # the year 10000
        yield from dues


# --- what was declared -----------------------------------------------------------------------


def _cron(text: str, zone: str, option: str) -> Cron:
    made = Cron(checked(text, option), zone)
    if next(made.after(_ANY_DAY), None) is None:
        raise InvalidOption(
            option,
            text,
            "never due: no day has its month, day-of-month and day-of-week, or the clock skips "
            "the hour each time. Change one of them.",
        )
    return made


def _length(every: object, option: str) -> timedelta:
    length = duration(every, option)
    if length < _SECOND or length % _SECOND:
        raise InvalidOption(option, every, 'whole seconds, at least one. Write "30s" or "5m".')
    if length > _LONGEST:
        raise InvalidOption(option, every, "longer than a century. Write less.")
    return length


def _zone(name: str, option: str = "schedule") -> tzinfo:
    if name == "UTC":
        return UTC  # also where a machine knows no zones
    try:
        if name.partition("/")[0] in _OF_THIS_MACHINE:
            raise LookupError
        return ZoneInfo(name)
    except (AttributeError, LookupError, OSError, ValueError):
        raise InvalidOption(
            f"{option}: tz",
            name,
            'no time zone that this machine knows. Write its IANA name, such as "Asia/Tokyo"; if '
            "all are unknown, install the package tzdata.",
        ) from None


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise InvalidOption("moment", moment, "has no time zone. Hand in an aware one.")
    return moment
