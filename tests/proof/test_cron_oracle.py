"""Recurring jobs are due when they ought to be: against an oracle that shares nothing with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.counts import Counts
from tests.proof.cron_oracle import DAY, HOUR, Zone, dues, pattern
from todoke.errors import InvalidOption
from todoke.jobs import cron
from todoke.jobs import timetable as clock
from todoke.jobs.timetable import Timetable, timetable

Record = Callable[[str, object], None]
Window = tuple[int, int]

FIRST_YEAR = 2011
"""The year in which Samoa had no 30 December; Brazil's summers ended in 2019."""
ZONES = (
    "Asia/Tokyo",  # no changes
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour
    "America/Sao_Paulo",  # at midnight
    "Africa/Casablanca",  # four times a year
    "Pacific/Apia",  # a whole day
)
FIXED = (
    "0 1 * * *",
    "30 2 * * *",
    "15,45 2 * * *",
    "0 2,3 * * *",
    "59 23 * * *",
    "@daily",
    "10 0 * * SUN",
    "5-50/15 0-4 * * *",
    "0-59 1,2 * * *",
    "0 0-23/2 * * *",
    "7/20 12/6 * * *",
)
ELAPSED = (
    "@hourly",
    "*/15 * * * *",
    "* 2 * * *",
    "0 */2 * * *",
    "*/20 1-3 * * *",
    "*/10 0 * * SUN",
    "* * * * *",
)
DAYS = (
    "0 9 * * MON-FRI",
    "30 2 L * *",
    "0 12 LW * *",
    "30 1 15W * *",
    "0 3 1W,30W,31W * *",
    "30 2 * * SUN#2",
    "30 2 * 3,10 7L",
    "0 6 13 * FRI",
    "0 6 */2 * MON",
    "0 0 29 2 *",
    "0 8 1,15 JAN-JUN/2,DEC *",
    "20 4 15W,L * TUE#1,SAT",
)
SECONDS = (
    "0 30 2 * * *",
    "*/20 0,30 1-3 * * *",
    "*/7 */10 * * * *",
    "* 30 */2 * * SUN",
    "10-20/5 59 23 LW * *",
)
EXPRESSIONS = FIXED + ELAPSED + DAYS + SECONDS


@pytest.mark.parametrize("zone", ZONES)
def test_cron_is_due_when_an_independent_oracle_says_so(
    zone: str, counts: Counts, record_property: Record
) -> None:
    """JB-2: over whole years, and marked where the clock was changed."""
    begin, end = year(FIRST_YEAR), year(FIRST_YEAR + counts.cron_years)
    known = Zone(zone, begin - 3 * DAY, end + 3 * DAY)
    compared, often, different = 0, 0, []
    for text in EXPRESSIONS:
        read = pattern(text)
        is_often = len(read.times) > counts.cron_dues_a_day
        often += is_often
        for window in around_changes(known, begin) if is_often else [(begin, end)]:
            expected = dues(read, known, *window)
            compared += len(expected)
            if told(timetable(cron=text, tz=zone), window) != expected:
                different.append((text, window))
    record_property("years", counts.cron_years)
    record_property("expressions", len(EXPRESSIONS))
    record_property("of these only around changes", often)
    record_property("changes of the clock", len(known.changes))
    record_property("compared", compared)
    record_property("differences", len(different))
    assert compared > 1_000
    assert different == []


def year(number: int) -> int:
    return int(datetime(number, 1, 1, tzinfo=UTC).timestamp())


def around_changes(zone: Zone, begin: int) -> Iterator[Window]:
    for change in [begin + DAY, *zone.changes]:
        yield change - 3 * HOUR, change + 3 * HOUR


def told(table: Timetable, window: Window) -> list[tuple[int, str]]:
    begin, end = (datetime.fromtimestamp(second, UTC) for second in window)
    return [(int(due.at.timestamp()), due.mark) for due in table.between(begin, end)]


# --- and any other ---------------------------------------------------------------------------


def numbers(least: int, most: int) -> st.SearchStrategy[str]:
    number = st.integers(least, most)
    spread = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    step = st.integers(1, most)
    item = st.one_of(
        number.map(str), spread, st.builds("{}/{}".format, spread | st.just("*"), step)
    )
    return st.just("*") | st.lists(item, min_size=1, max_size=3).map(",".join)


DAYS_OF_MONTH = numbers(1, 31) | st.lists(
    st.sampled_from(["L", "LW", "1W", "15W", "30W", "31W", "7"]), min_size=1, max_size=2
).map(",".join)
DAYS_OF_WEEK = numbers(0, 6) | st.sampled_from(["MON", "SUN#1", "SAT#5", "7L", "0L,3", "TUE-FRI"])
FIELDS = [numbers(0, 59), numbers(0, 23), DAYS_OF_MONTH, numbers(1, 12), DAYS_OF_WEEK]
ANY_EXPRESSION = st.tuples(*FIELDS).map(" ".join)


@given(
    text=ANY_EXPRESSION
    | st.builds("{} {}".format, st.sampled_from(["0", "*/20", "7"]), ANY_EXPRESSION),
    zone=st.sampled_from([*ZONES, "America/Havana", "Asia/Tehran", "America/St_Johns"]),
    month=st.integers(0, 12 * 30 - 1),
)
def test_any_expression_is_due_when_the_oracle_says_so(text: str, zone: str, month: int) -> None:
    """JB-2: any month of thirty years."""
    begin = int(datetime(2010 + month // 12, month % 12 + 1, 1, tzinfo=UTC).timestamp())
    end = begin + 31 * DAY
    read, known = pattern(text), Zone(zone, begin - 3 * DAY, end + 3 * DAY)
    window = (begin, end)
    if len(read.times) > 300:
        middle = next((each for each in known.changes if begin < each < end), begin)
        window = middle - DAY, middle + DAY
    try:
        table = timetable(cron=text, tz=zone)
    except InvalidOption as refused:
        assert "never due" in str(refused) or "day-of-month" in str(refused)
        assert dues(read, known, *window) == []
    else:
        assert told(table, window) == dues(read, known, *window)


# --- the oracle notices ----------------------------------------------------------------------


def take_all_for_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cron.Expression, "is_fixed", True)


def take_none_for_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cron.Expression, "is_fixed", False)


def read_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = clock._readings
    monkeypatch.setattr(clock, "_readings", lambda *wall: (readings(*wall)[1],) * 2)


def wait_to_the_end_of_the_skipped_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_change", lambda before, latest, zone: latest)


def stay_at_the_weekend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cron, "nearest_weekday", lambda of, day: day)


PLANTED = [
    take_all_for_fixed,
    take_none_for_fixed,
    read_the_second_time,
    wait_to_the_end_of_the_skipped_hour,
    stay_at_the_weekend,
]


@pytest.mark.parametrize("plant", PLANTED)
def test_a_planted_bug_of_the_timetable_is_caught(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    window = year(FIRST_YEAR), year(FIRST_YEAR + 1)
    known = Zone("Europe/Berlin", window[0] - 3 * DAY, window[1] + 3 * DAY)
    plant(monkeypatch)
    assert any(
        told(timetable(cron=text, tz="Europe/Berlin"), window)
        != dues(pattern(text), known, *window)
        for text in ("30 2 * * *", "*/20 2 * * *", "30 1 15W * *")
    )
