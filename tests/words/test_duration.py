"""Lengths of time, as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke.duration import duration, seconds
from todoke.errors import InvalidOption


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("30s", timedelta(seconds=30)),
        ("1.5s", timedelta(seconds=1.5)),
        ("5m", timedelta(minutes=5)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        ("2w", timedelta(weeks=2)),
        (" 10 s ", timedelta(seconds=10)),
        (timedelta(hours=1), timedelta(hours=1)),
    ],
)
def test_a_length_of_time_is_read_as_written(written: object, meant: timedelta) -> None:
    """ER-2"""
    assert duration(written) == meant


@pytest.mark.parametrize("number", [5, 0, 1.5, True])
def test_a_number_has_no_unit(number: object) -> None:
    """api 3.11"""
    with pytest.raises(InvalidOption, match=f'timeout = {number}: a number has no unit. Write "'):
        duration(number, "timeout")


@pytest.mark.parametrize(
    "text", ["", "soon", "-5s", "5", "5 minutes", "1h30m", "５s", None, [], "1e3s"]
)
def test_anything_else_is_refused_with_examples(text: object) -> None:
    """api 3.11"""
    with pytest.raises(InvalidOption, match='Write "250ms", "30s", "5m", "24h", "7d"'):
        duration(text)


def test_time_does_not_run_backwards() -> None:
    """ER-2"""
    with pytest.raises(InvalidOption, match="cannot be negative"):
        duration(timedelta(seconds=-1))


def test_a_length_beyond_all_time_is_refused() -> None:
    """ER-2"""
    with pytest.raises(InvalidOption):
        duration("99999999999999w")


@given(st.integers(min_value=0, max_value=10**6), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_every_whole_number_with_a_unit_is_read_exactly(number: int, unit: str) -> None:
    """ER-2"""
    lengths = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
    assert seconds(f"{number}{unit}") == pytest.approx(number * lengths[unit])
