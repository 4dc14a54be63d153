"""Cron expressions: what can be read, what is refused, and how (JB-2, JB-7)."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke.errors import InvalidOption
from todoke.jobs import timetable as clock
from todoke.jobs.timetable import timetable

BERLIN = "Europe/Berlin"


def in_2025(cron: str, number: int = 3) -> list[str]:
    dues = timetable(cron=cron).after(datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC))
    return [f"{due.at:%m-%d %H:%M:%S}" for due in islice(dues, number)]


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 1 * * *", ["01-01 01:00:00", "01-02 01:00:00", "01-03 01:00:00"]),
        ("*/20 * * * *", ["01-01 00:00:00", "01-01 00:20:00", "01-01 00:40:00"]),
        ("*/30 0 12 * * *", ["01-01 12:00:00", "01-01 12:00:30", "01-02 12:00:00"]),
        ("0 0 L * *", ["01-31 00:00:00", "02-28 00:00:00", "03-31 00:00:00"]),
        ("0 0 LW * *", ["01-31 00:00:00", "02-28 00:00:00", "03-31 00:00:00"]),
        ("0 0 15W * *", ["01-15 00:00:00", "02-14 00:00:00", "03-14 00:00:00"]),
        ("0 0 1W 2,3,6 *", ["02-03 00:00:00", "03-03 00:00:00", "06-02 00:00:00"]),
        ("0 0 31W 8,9,10 *", ["08-29 00:00:00", "10-31 00:00:00", "08-31 00:00:00"]),
        ("0 0 15,15W 2 *", ["02-14 00:00:00", "02-15 00:00:00", "02-15 00:00:00"]),
        ("0 0 15W,L 2 *", ["02-14 00:00:00", "02-28 00:00:00", "02-16 00:00:00"]),
        ("0 0 * * MON#2", ["01-13 00:00:00", "02-10 00:00:00", "03-10 00:00:00"]),
        ("0 0 * * 5L", ["01-31 00:00:00", "02-28 00:00:00", "03-28 00:00:00"]),
        ("0 0 * feb-mar sun", ["02-02 00:00:00", "02-09 00:00:00", "02-16 00:00:00"]),
        ("0 0 13 * FRI", ["01-03 00:00:00", "01-10 00:00:00", "01-13 00:00:00"]),
        ("5-5/2 * * * *", ["01-01 00:05:00", "01-01 01:05:00", "01-01 02:05:00"]),
        ("@hourly", ["01-01 00:00:00", "01-01 01:00:00", "01-01 02:00:00"]),
        ("@daily", ["01-01 00:00:00", "01-02 00:00:00", "01-03 00:00:00"]),
        ("@weekly", ["01-05 00:00:00", "01-12 00:00:00", "01-19 00:00:00"]),
        ("@monthly", ["01-01 00:00:00", "02-01 00:00:00", "03-01 00:00:00"]),
        ("@YEARLY", ["01-01 00:00:00", "01-01 00:00:00", "01-01 00:00:00"]),
    ],
)
def test_an_expression_is_due_as_written(cron: str, expected: list[str]) -> None:
    assert in_2025(cron) == expected


@pytest.mark.parametrize(
    ("cron", "field"),
    [
        ("61 * * * *", "minute '61'"),
        ("* 24 * * *", "hour '24'"),
        ("* * 0 * *", "day-of-month '0'"),
        ("* * * 13 *", "month '13'"),
        ("* * * * 8", "day-of-week '8'"),
        ("60 * * * * *", "second '60'"),
        ("0 * 24 * * *", "hour '24'"),
        ("*/0 * * * *", "minute '*/0'"),
        ("1-1/0 * * * *", "minute '1-1/0'"),
        ("30-10 * * * *", "minute '30-10'"),
        ("1,,2 * * * *", "minute '1,,2'"),
        ("* * 32W * *", "day-of-month '32W'"),
        ("* * W * *", "day-of-month 'W'"),
        ("* * L/2 * *", "day-of-month 'L/2'"),
        ("* * 15W/2 * *", "day-of-month '15W/2'"),
        ("* * * * MON#6", "day-of-week 'MON#6'"),
        ("* * * * SAT-SUN", "day-of-week 'SAT-SUN'"),
        ("* * * * ?", "day-of-week '?'"),
        ("0 0 30 2 *", "day-of-month '30'"),
        ("9999999999999999999999999 * * * *", "minute '9"),
    ],
)
def test_a_refusal_names_the_field(cron: str, field: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        timetable(cron=cron, option="jobs.schedule.nightly")
    assert refused.value.remedy.startswith(f"its {field}")
    assert str(refused.value).startswith("jobs.schedule.nightly = ")


@pytest.mark.parametrize(
    "cron",
    ["", "* * * *", "* * * * * * *", "@reboot", "every 5m", "５ * * * *", "\u017fun", "a\0b"],
)
def test_what_has_other_fields_is_refused_with_their_names(cron: str) -> None:
    with pytest.raises(InvalidOption, match="minute hour day-of-month month day-of-week"):
        timetable(cron=cron)


@pytest.mark.parametrize(
    ("cron", "tz"),
    [
        ("0 0 31W 2 *", "UTC"),
        ("0 0 */20 * 1L", "UTC"),
        ("*/10 2 * 3 7L", BERLIN),  # only in the skipped hour
        ("0 * 2 * 3 7L", BERLIN),
    ],
)
def test_what_is_never_due_is_refused(cron: str, tz: str) -> None:
    with pytest.raises(InvalidOption, match="never due"):
        timetable(cron=cron, tz=tz)


def test_what_is_skipped_each_year_is_not_sought_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[datetime] = []
    readings = clock._readings

    def counted(wall: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
        looked_at.append(wall)
        return readings(wall, zone)

    monkeypatch.setattr(clock, "_readings", counted)
    with pytest.raises(InvalidOption, match="never due"):
        timetable(cron="*/10 2 * 3 7L", tz=BERLIN)
    assert len(looked_at) < 400


def test_what_is_due_once_in_forty_years_is_not_refused() -> None:
    dues = timetable(cron="0 0 * 2 MON#5").after(datetime(2072, 3, 1, tzinfo=UTC))
    assert next(dues).at == datetime(2112, 2, 29, tzinfo=UTC)


def test_a_long_text_is_refused_and_not_repeated() -> None:
    with pytest.raises(InvalidOption, match="longer than 200 characters") as refused:
        timetable(cron="0," * 1_000_000 + "0 * * * *")
    assert len(str(refused.value)) < 200


@given(st.text(st.sampled_from("0123456789*/,-#LW@ MONJAN"), max_size=250) | st.text())
def test_any_text_is_read_or_refused(cron: str) -> None:
    try:
        table = timetable(cron=cron)
    except InvalidOption:
        return
    assert list(islice(table.after(datetime(2025, 1, 1, tzinfo=UTC)), 2))
