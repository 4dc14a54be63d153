"""Cron expressions against the clock on the wall: which local times match, whatever the zone.

cronsim reads them and walks from match to match. Here is what it lacks: the nearest weekday
(`15W`), short names (`@daily`), and refusals that name the field and what it takes.
"""

from __future__ import annotations

import re
from calendar import SATURDAY, SUNDAY, monthrange
from datetime import date, datetime, timedelta

from cronsim import CronSim, CronSimError

from todoke.errors import InvalidOption

SHORT_NAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
GIVE_UP_YEARS = 50
"""Days repeat every 400 years, and none that comes again stays away for longer than 40."""

_MOST_CHARACTERS = 200
_NEAREST = re.compile(r"([1-9]|[12][0-9]|3[01])W")
_ONE_STEPPED = re.compile(r"\b(\w+)-\1/[1-9][0-9]*")
_FIELDS = {
    "second": '0-59, lists "0,30", ranges "10-20", steps "*/15"',
    "minute": '0-59, lists "0,30", ranges "10-20", steps "*/15"',
    "hour": '0-23, lists "6,18", ranges "9-17", steps "*/2"',
    "day-of-month": '1-31 where one of its months has that day, "L" (last), "LW", "15W"',
    "month": "1-12, JAN-DEC, lists, ascending ranges, steps",
    "day-of-week": '0-7 or SUN-SAT, lists, ascending ranges, "MON#2" (second), "5L" (last)',
}
_SHAPE = (
    "five fields (minute hour day-of-month month day-of-week), six with the second first, or one "
    f"of {', '.join(SHORT_NAMES)}"
)


class Expression(CronSim):
    """Walks over the local times that match, strictly after the one it begins with."""

    dt: datetime

    def __init__(self, text: str, wall: datetime) -> None:
        fields = _fields(text)
        days = fields[-3].split(",") if len(fields) >= 5 else []
        self.nearest: set[int] = {
            int(found[1]) for day in days if (found := _NEAREST.fullmatch(day))
        }
        if self.nearest:
            # "L" stands in for them, so that the field can be read.
            fields[-3] = ",".join("L" if _NEAREST.fullmatch(day) else day for day in days)
        super().__init__(" ".join(fields), wall)
        if self.nearest and "L" not in days:
            self.days.discard(self.LAST)

    @property
    def is_fixed(self) -> bool:
        """Whether it names times of the day; a star asks for every so many minutes or hours."""
        return not any(field.startswith("*") for field in self.parts[1:3])

    def match_dom(self, d: date) -> bool:
        return super().match_dom(d) or any(d.day == nearest_weekday(d, day) for day in self.nearest)

    # Local times alone need no care for zones, which takes cronsim most of its time.

    def tick(self, seconds: int = 1) -> None:
        self.dt += timedelta(seconds=seconds)

    def advance_hour(self) -> bool:
        hour = self.dt.hour
        if hour in self.hours:
            return False
        ahead = min((each - hour for each in self.hours if each > hour), default=24 - hour)
        self.dt = self.dt.replace(minute=0, second=0) + timedelta(hours=ahead)
        return True


def nearest_weekday(of: date, day: int) -> int | None:
    """Which Monday to Friday is nearest to that day without leaving the month; none without it."""
    _, last = monthrange(of.year, of.month)
    if day > last:
        return None
    weekday = of.replace(day=day).weekday()
    if weekday == SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == SUNDAY:
        return day + 1 if day < last else day - 2
    return day


def checked(text: object, option: str) -> str:
    """The expression with single blanks, if it can be read."""
    if not isinstance(text, str):
        raise InvalidOption(option, text, f"no cron expression. Write {_SHAPE}.")
    if len(text) > _MOST_CHARACTERS:
        raise InvalidOption(
            option, f"{text[:20]}…", f"longer than {_MOST_CHARACTERS} characters. Write less."
        )
    try:
        Expression(text, datetime.min)  # noqa: DTZ901  a local time
    except CronSimError as error:
        raise InvalidOption(option, text, _remedy(str(error), text)) from None
    return " ".join(text.split())


def _fields(text: str) -> list[str]:
    text = SHORT_NAMES.get(text.strip().lower(), text)
    # cronsim takes "5-5/2" for "5/2", which goes on to the end.
    fields = _ONE_STEPPED.sub(r"\1", text.upper() if text.isascii() else "").split()
    if len(fields) >= 5 and re.search("[LW]/", fields[-3]):
        raise CronSimError("Bad day-of-month")
    return fields


def _remedy(said: str, text: str) -> str:
    name = said.removeprefix("Bad ")
    if name not in _FIELDS:
        return f"write {_SHAPE}."
    written = text.split()[list(_FIELDS).index(name) - len(_FIELDS)]
    return f"its {name} {written!r} cannot be meant. It takes {_FIELDS[name]}."
