"""When recurring jobs are due, also when the clock is changed (JB-2)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke.duration import Duration
from todoke.errors import InvalidOption
from todoke.jobs.timetable import Due, Timetable, timetable

BERLIN, LORD_HOWE, SAO_PAULO = "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo"


def shown(table: Timetable, start: str, end: str) -> list[str]:
    """What is due between two local times, as the local clock shows it."""
    zone = ZoneInfo(table.zone)
    since, until = (datetime.fromisoformat(each).replace(tzinfo=zone) for each in (start, end))
    return [f"{due.local:%d %H:%M:%S%z} {due.mark}".strip() for due in table.between(since, until)]


@pytest.mark.parametrize(
    "tz",
    ["Mars/Olympus", "", "Europe", "../etc", "/etc/localtime", "localtime", "right/UTC", "\0", 9],
)
def test_an_unknown_zone_is_refused(tz: str) -> None:
    with pytest.raises(InvalidOption, match=r'nightly: tz = .* such as "Asia/Tokyo"'):
        timetable(every="5m", tz=tz, option="nightly")


def test_a_time_of_the_day_is_local() -> None:
    due = next(timetable(cron="0 1 * * *", tz="Asia/Tokyo").after(datetime(2025, 1, 1, tzinfo=UTC)))
    assert due == Due(
        datetime(2025, 1, 1, 16, tzinfo=UTC),
        datetime(2025, 1, 2, 1, tzinfo=ZoneInfo("Asia/Tokyo")),
        "",
    )
    assert due.at.tzinfo is UTC


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["30 03:00:00+0200 skipped hour"]),
        ("0 30 2 * * *", ["30 03:00:00+0200 skipped hour"]),
        ("15,45 2 * * *", ["30 03:00:00+0200 skipped hour"]),
        ("0 2,3 * * *", ["30 03:00:00+0200 skipped hour"]),
        ("0 3 * * *", ["30 03:00:00+0200"]),
        ("* 2 * * *", []),
        ("0 */2 * * *", ["30 04:00:00+0200"]),
        ("0 0-23/2 * * *", ["30 03:00:00+0200 skipped hour", "30 04:00:00+0200"]),
    ],
)
def test_in_the_skipped_hour(cron: str, expected: list[str]) -> None:
    table = timetable(cron=cron, tz=BERLIN)
    assert shown(table, "2025-03-30 00:00", "2025-03-30 04:30") == expected


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("30 2 * * *", ["26 02:30:00+0200 repeated hour"]),
        ("0 30 2 * * *", ["26 02:30:00+0200 repeated hour"]),
        ("0 3 * * *", ["26 03:00:00+0100"]),
        (
            "*/40 2 * * *",
            [
                "26 02:00:00+0200 repeated hour",
                "26 02:40:00+0200 repeated hour",
                "26 02:00:00+0100 repeated hour",
                "26 02:40:00+0100 repeated hour",
            ],
        ),
        ("30 */2 * * *", ["26 02:30:00+0200 repeated hour", "26 02:30:00+0100 repeated hour"]),
    ],
)
def test_in_the_repeated_hour(cron: str, expected: list[str]) -> None:
    table = timetable(cron=cron, tz=BERLIN)
    assert shown(table, "2025-10-26 01:30", "2025-10-26 03:30") == expected


def test_half_an_hour_may_be_skipped_and_repeated() -> None:
    by_elapsed, fixed = (timetable(cron=c, tz=LORD_HOWE) for c in ("*/20 2 * * *", "10 2 * * *"))
    skipped, repeated = ("2025-10-05 00:00", "2025-10-05 04:00"), ("2025-04-06", "2025-04-06 04:00")
    assert shown(by_elapsed, *skipped) == ["05 02:40:00+1100"]
    assert shown(fixed, *skipped) == ["05 02:30:00+1100 skipped hour"]
    assert len(shown(by_elapsed, *repeated)) == 3
    assert shown(timetable(cron="*/20 1 * * *", tz=LORD_HOWE), *repeated)[2:] == [
        "06 01:40:00+1100 repeated hour",
        "06 01:40:00+1030 repeated hour",
    ]


def test_midnight_may_be_skipped() -> None:
    day = "2018-11-03 12:00", "2018-11-04 12:00"
    assert shown(timetable(cron="@daily", tz=SAO_PAULO), *day) == ["04 01:00:00-0200 skipped hour"]
    assert shown(timetable(cron="*/30 0 * * SUN", tz=SAO_PAULO), *day) == []


def test_a_whole_day_may_be_skipped() -> None:
    days = "2011-12-29 06:00", "2011-12-31 18:00"
    assert shown(timetable(cron="0 7,12 * * *", tz="Pacific/Apia"), *days) == [
        "29 07:00:00-1000",
        "29 12:00:00-1000",
        "31 00:00:00+1400 skipped hour",
        "31 07:00:00+1400",
        "31 12:00:00+1400",
    ]
    assert len(shown(timetable(cron="0 */12 * * *", tz="Pacific/Apia"), *days)) == 3


def test_the_second_time_nothing_of_the_first_is_due() -> None:
    """Whoever asks in the middle of the repeated hour is told nothing that is past."""
    second = datetime(2025, 10, 26, 1, 10, tzinfo=UTC)
    assert next(timetable(cron="45 2 * * *", tz=BERLIN).after(second)).local.day == 27


# --- every so often --------------------------------------------------------------------------


def test_an_interval_counts_from_1970() -> None:
    """All processes agree, whenever they were started."""
    after = datetime(2025, 1, 1, 0, 0, 1, tzinfo=UTC)
    dues = islice(timetable(every="7m").after(after), 3)
    assert [int(due.at.timestamp()) % 420 for due in dues] == [0, 0, 0]
    assert next(timetable(every="1d", tz="Asia/Tokyo").after(after)).local.hour == 9


def test_an_interval_knows_no_clock_on_the_wall() -> None:
    table = timetable(every="30m", tz=BERLIN)
    assert shown(table, "2025-03-30 01:00", "2025-03-30 03:30") == [
        "30 01:30:00+0100",
        "30 03:00:00+0200",
        "30 03:30:00+0200",
    ]
    assert shown(table, "2025-10-26 01:59", "2025-10-26 03:00") == [
        "26 02:00:00+0200 repeated hour",
        "26 02:30:00+0200 repeated hour",
        "26 02:00:00+0100 repeated hour",
        "26 02:30:00+0100 repeated hour",
        "26 03:00:00+0100",
    ]


@pytest.mark.parametrize(
    ("every", "text"),
    [
        ("5m", "every 5m"),
        ("300s", "every 5m"),
        (timedelta(seconds=90), "every 90s"),
        ("24h", "every 1d"),
        ("2w", "every 14d"),
    ],
)
def test_an_interval_is_told_in_its_largest_unit(every: Duration, text: str) -> None:
    assert timetable(every=every).text == text


@pytest.mark.parametrize("every", ["0s", "999ms", "1.5s", "36501d", 5, "soon", timedelta(-1)])
def test_an_interval_has_whole_seconds(every: Duration) -> None:
    with pytest.raises(InvalidOption, match="nightly = "):
        timetable(every=every, option="nightly")


@pytest.mark.parametrize(("cron", "every"), [(None, None), ("@daily", "5m")])
def test_one_of_both_is_declared(cron: str | None, every: str | None) -> None:
    with pytest.raises(InvalidOption, match=r"either cron=.* or every="):
        timetable(cron=cron, every=every)


def test_equal_declarations_are_equal() -> None:
    """JB-7: so that a change of the configuration is seen."""
    assert timetable(cron=" 0  1 * * *", tz=BERLIN) == timetable(cron="0 1 * * *", tz=BERLIN)
    assert timetable(cron="0 1 * * *", tz=BERLIN) != timetable(cron="0 1 * * *")
    assert timetable(every="60s") == timetable(every="1m") != timetable(every="2m")
    assert len({timetable(every="60s"), timetable(every="1m"), timetable(cron="@daily")}) == 2


# --- whatever is asked -----------------------------------------------------------------------

ZONES = [BERLIN, LORD_HOWE, SAO_PAULO, "Africa/Casablanca", "America/Havana", "Pacific/Apia", "UTC"]
TABLES = st.builds(
    lambda cron, tz: timetable(cron=cron, tz=tz),
    st.sampled_from(
        [
            "30 2 * * *",
            "0,30 0-4 * * *",
            "*/20 * * * *",
            "0 */2 * * *",
            "30 1 15W,L * SUN",
            "*/20 30 0-2 * * *",
            "@daily",
        ]
    ),
    st.sampled_from(ZONES),
) | st.builds(
    lambda every, tz: timetable(every=every, tz=tz),
    st.sampled_from(["30m", "7h", "1d"]),
    st.sampled_from(ZONES),
)
# Changes of these zones' clocks, and some hours before and after.
CHANGES = st.sampled_from(
    [
        "2011-12-30 10:00",
        "2018-02-18 02:00",
        "2018-11-04 03:00",
        "2025-03-30 01:00",
        "2025-04-05 15:00",
        "2025-10-04 15:30",
        "2025-10-26 01:00",
        "2025-11-02 05:00",
    ]
).map(lambda text: datetime.fromisoformat(text).replace(tzinfo=UTC))
MOMENTS = st.builds(
    lambda change, seconds: change + timedelta(seconds=seconds),
    CHANGES,
    st.integers(-8 * 3600, 8 * 3600) | st.floats(-8 * 3600, 8 * 3600),
)
HOURS = st.integers(0, 40 * 3600).map(lambda seconds: timedelta(seconds=seconds))


@given(TABLES, MOMENTS)
def test_dues_ascend_behind_the_moment(table: Timetable, moment: datetime) -> None:
    dues = list(islice(table.after(moment), 30))
    assert dues[0].at > moment
    assert all(before.at < behind.at for before, behind in pairwise(dues))
    # Python calls no time of a repeated hour equal to one of another zone.
    assert all(due.local.astimezone(UTC) == due.at for due in dues)


@given(TABLES, MOMENTS, HOURS)
def test_between_is_what_after_tells(table: Timetable, start: datetime, length: timedelta) -> None:
    end = start + length
    between = list(table.between(start, end))
    following = list(islice(table.after(start), len(between) + 1))
    assert following[:-1] == between
    assert following[-1].at > end
    assert all(start < due.at <= end for due in between)


@given(TABLES, MOMENTS, st.lists(HOURS, min_size=1, max_size=6))
def test_however_a_time_is_split_nothing_is_lost_or_repeated(
    table: Timetable, start: datetime, lengths: list[timedelta]
) -> None:
    edges = [start]
    for length in lengths:
        edges.append(edges[-1] + length)
    parts = [due for edge, next_edge in pairwise(edges) for due in table.between(edge, next_edge)]
    assert parts == list(table.between(start, edges[-1]))


@given(TABLES, MOMENTS)
def test_one_after_the_other_is_the_same_as_in_a_row(table: Timetable, start: datetime) -> None:
    """The scheduler asks for the next one only, each time anew."""
    in_a_row = list(islice(table.after(start), 8))
    alone, moment = [], start
    for _ in in_a_row:
        alone.append(next(table.after(moment)))
        moment = alone[-1].at
    assert alone == in_a_row


def test_a_moment_has_a_zone() -> None:
    naive = datetime(2025, 1, 1)  # noqa: DTZ001
    for table in (timetable(cron="@daily"), timetable(every="5m")):
        with pytest.raises(InvalidOption, match="no time zone"):
            table.after(naive)


def test_time_ends_in_the_year_9999() -> None:
    late = datetime(9997, 6, 1, tzinfo=UTC)
    for table in (timetable(cron="@yearly"), timetable(cron="@yearly", tz="America/New_York")):
        assert [due.local.year for due in table.after(late)] == [9998, 9999]
    assert all(due.at > late for due in timetable(every="100d").after(late))
