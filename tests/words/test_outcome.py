"""Answers that cannot be meant are refused where they are given."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from todoke import Done, Reject, Retry, Skip, Snooze
from todoke.errors import InvalidOption


def test_outcomes_are_values() -> None:
    """design 8"""
    assert Retry("1s", reason="busy") == Retry("1s", reason="busy") != Retry("2s", reason="busy")
    assert (Done(), Skip("x"), Reject("x", code="C")) == (Done(), Skip("x"), Reject("x", code="C"))


@pytest.mark.parametrize("outcome", [Retry, Snooze])
def test_a_wait_without_a_unit_is_refused(outcome: type[Retry]) -> None:
    """api 3.11"""
    with pytest.raises(InvalidOption, match="a number has no unit"):
        outcome(5)  # type: ignore[arg-type]


def test_a_moment_without_a_zone_is_refused() -> None:
    """design 14"""
    with pytest.raises(InvalidOption, match=r"Use datetime\.now\(UTC\)"):
        Snooze(datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_wait_may_be_a_text_a_length_or_a_moment() -> None:
    """design 8"""
    assert Retry(None).after is None
    assert Snooze(timedelta(hours=1)).until == timedelta(hours=1)
    assert Snooze(datetime(2026, 1, 1, tzinfo=UTC)).until.tzinfo is UTC  # type: ignore[union-attr]
