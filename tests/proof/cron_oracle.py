"""When a cron expression is due, found the slow way: all local times against all offsets.

Shares nothing with the product, neither cronsim nor `fold`: it has a parser of its own, lists the
spans of time in which a zone's offset stays the same, and lays each matching local time over them.
All times are whole seconds since 1970, on a clock in UTC or on a wall.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import pairwise, product
from zoneinfo import ZoneInfo

DAY, HOUR = 86_400, 3_600
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
NAMES = {
    **{name: number for number, name in enumerate(WEEKDAYS)},
    **{name: number for number, name in enumerate(MONTHS, 1)},
}
SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * SUN",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 JAN *",
}


# --- expressions -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Pattern:
    """An expression, taken apart."""

    times: tuple[int, ...]
    """Seconds since midnight."""
    months: frozenset[int]
    day_of_month: str
    day_of_week: str
    keeps_to_the_wall: bool

    def has(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        of_month = any(is_of_month(item, day) for item in self.day_of_month.split(","))
        of_week = any(is_of_week(item, day) for item in self.day_of_week.split(","))
        if "*" in (self.day_of_month[0], self.day_of_week[0]):
            return of_month and of_week
        return of_month or of_week


def pattern(text: str) -> Pattern:
    fields = SHORT.get(text, text).split()
    second, minute, hour, day, month, weekday = fields if len(fields) == 6 else ["0", *fields]
    times = product(numbers(hour, 0, 23), numbers(minute, 0, 59), numbers(second, 0, 59))
    return Pattern(
        times=tuple(h * HOUR + m * 60 + s for h, m, s in times),
        months=frozenset(numbers(month, 1, 12)),
        day_of_month=day,
        day_of_week=weekday,
        keeps_to_the_wall="*" not in (minute[0], hour[0]),
    )


def numbers(field: str, least: int, most: int) -> list[int]:
    return sorted({number for item in field.split(",") for number in spread(item, least, most)})


def spread(item: str, least: int, most: int) -> range:
    body, _, step = item.partition("/")
    first, dash, last = body.partition("-")
    if body == "*":
        return range(least, most + 1, int(step or 1))
    begin = number_of(first)
    end = number_of(last) if dash else most if step else begin
    return range(begin, end + 1, int(step or 1))


def number_of(word: str) -> int:
    return NAMES[word] if word in NAMES else int(word)


def is_of_month(item: str, day: date) -> bool:
    days = days_of(day.year, day.month)
    if item == "L":
        return day == days[-1]
    if item == "LW":
        return day == [each for each in days if is_workday(each)][-1]
    if near := re.fullmatch(r"(\d+)W", item):
        wanted = int(near[1])
        # The nearest; of two that are equally far there is none, a weekend has two days.
        workdays = sorted(filter(is_workday, days), key=lambda each: abs(each.day - wanted))
        return wanted <= len(days) and day == workdays[0]
    return day.day in spread(item, 1, 31)


def is_of_week(item: str, day: date) -> bool:
    weekday = day.isoweekday() % 7
    if last := re.fullmatch(r"(\d)L", item):
        return weekday == int(last[1]) % 7 and day == same_weekdays(day)[-1]
    if nth := re.fullmatch(r"(\w+)#(\d)", item):
        return weekday == number_of(nth[1]) % 7 and same_weekdays(day).index(day) + 1 == int(nth[2])
    return weekday in {number % 7 for number in spread(item, 0, 6)}


def same_weekdays(day: date) -> list[date]:
    return [each for each in days_of(day.year, day.month) if each.weekday() == day.weekday()]


def is_workday(day: date) -> bool:
    return day.isoweekday() <= 5


@cache
def days_of(year: int, month: int) -> list[date]:
    first = date(year, month, 1)
    days = [first + timedelta(days=number) for number in range(31)]
    return [day for day in days if day.month == month]


# --- zones -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """From one change of a zone's offset to the next."""

    begin: int
    end: int
    offset: int

    def shows(self, wall: int) -> bool:
        return self.begin <= wall - self.offset < self.end


class Zone:
    """A zone for some time, as what its clocks show."""

    def __init__(self, name: str, begin: int, end: int) -> None:
        self._name = name
        self.changes = list(self._changes(begin, end))
        edges = [begin, *self.changes, end]
        self.spans = [Span(first, last, self._offset(first)) for first, last in pairwise(edges)]

    def near(self, wall: int) -> list[Span]:
        """Those that may show it; no clock is farther than a day from the one in UTC."""
        first = bisect_right(self.changes, wall - DAY)
        last = bisect_right(self.changes, wall + DAY)
        return self.spans[first : last + 1]

    def _changes(self, begin: int, end: int) -> Iterator[int]:
        for hour in range(begin, end, HOUR):
            if self._offset(hour) != self._offset(hour + HOUR):
                yield from (
                    second
                    for second in range(hour + 1, hour + HOUR + 1)
                    if self._offset(second) != self._offset(second - 1)
                )

    def _offset(self, second: int) -> int:
        local = datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(self._name))
        shown = local.utcoffset()
        assert shown is not None
        return int(shown.total_seconds())


# --- both ------------------------------------------------------------------------------------


def dues(read: Pattern, zone: Zone, begin: int, end: int) -> list[tuple[int, str]]:
    """What is due later than begin and not later than end, and how it is marked."""
    found: dict[int, str] = {}
    for wall in matching_walls(read, begin - DAY, end + DAY):
        near = zone.near(wall)
        showing = [span for span in near if span.shows(wall)]
        mark = "repeated hour" if len(showing) > 1 else ""
        if not read.keeps_to_the_wall:
            found |= {wall - span.offset: mark for span in showing}
        elif showing:
            found.setdefault(wall - showing[0].offset, mark)
        else:
            missed = next(span for span in near if span.begin + span.offset > wall)
            found[missed.begin] = "skipped hour"
    return sorted((at, mark) for at, mark in found.items() if begin < at <= end)


def matching_walls(read: Pattern, begin: int, end: int) -> Iterator[int]:
    for number in range(begin // DAY, end // DAY + 1):
        if read.has(date(1970, 1, 1) + timedelta(days=number)):
            yield from (number * DAY + second for second in read.times)
