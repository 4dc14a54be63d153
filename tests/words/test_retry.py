"""When to try again: attempts, and the waits between them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from todoke import Backoff
from todoke.errors import InvalidOption
from todoke.retry import PRESETS, policy


def waits(of: Backoff, count: int) -> list[float]:
    return [of.wait(attempt, lambda: 0.5).total_seconds() for attempt in range(1, count + 1)]


@pytest.mark.parametrize(
    ("name", "attempts", "expected"),
    [
        ("default", 4, [1, 2, 4]),
        ("mail", 3, [30, 60]),
        ("broker-order", 6, [5, 10, 20, 40, 80]),
        ("job", 4, [1, 2, 4]),
    ],
)
def test_a_preset_is_what_it_was_agreed_to_be(
    name: str, attempts: int, expected: list[float]
) -> None:
    """ER-2"""
    preset = PRESETS[name]
    assert (preset.attempts, waits(preset, attempts - 1)) == (attempts, expected)


def test_there_are_no_other_presets() -> None:
    """ER-2"""
    assert sorted(PRESETS) == ["broker-order", "default", "job", "mail"]


def test_n_waits_make_one_attempt_more() -> None:
    """ER-2"""
    of = Backoff("1s", "2s")
    assert [of.exhausted(attempt) for attempt in (1, 2, 3)] == [False, False, True]


def test_the_last_wait_repeats() -> None:
    """ER-2"""
    assert waits(Backoff("1s", "5s", attempts=6), 5) == [1, 5, 5, 5, 5]


def test_no_wait_is_one_attempt() -> None:
    """ER-2"""
    assert Backoff().exhausted(1)


def test_exponential_waits_double_up_to_the_cap() -> None:
    """ER-2"""
    of = Backoff.exponential("1s", attempts=9, cap="10s")
    assert waits(of, 8) == [1, 2, 4, 8, 10, 10, 10, 10]


def test_exponential_without_attempts_never_gives_up() -> None:
    """ER-2"""
    of = Backoff.exponential("1s", attempts=None, cap="1m")
    assert not of.exhausted(10**6)
    assert waits(of, 100)[-1] == 60


@given(
    st.floats(min_value=0, max_value=1),
    st.floats(min_value=0, max_value=1, exclude_max=True),
    st.integers(min_value=1, max_value=20),
)
def test_jitter_stays_within_its_bounds(jitter: float, drawn: float, attempt: int) -> None:
    """ER-2"""
    of = Backoff("10s", "100s", attempts=20, jitter=jitter)
    plain = 10 if attempt == 1 else 100
    waited = of.wait(attempt, lambda: drawn).total_seconds()
    assert plain * (1 - jitter) - 1e-5 <= waited <= plain * (1 + jitter) + 1e-5


@given(
    st.integers(min_value=2, max_value=30),
    st.floats(min_value=1, max_value=5),
    st.integers(min_value=1, max_value=1000),
)
def test_exponential_waits_never_shrink_and_never_pass_the_cap(
    attempts: int, factor: float, cap: int
) -> None:
    """ER-2"""
    of = Backoff.exponential("1s", attempts=attempts, factor=factor, cap=f"{cap}s")
    found = waits(of, attempts - 1)
    assert found == sorted(found)
    assert max(found) <= cap


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {"attempts": 0}),
        ((), {"attempts": -1}),
        (("1s",), {"jitter": 1.1}),
        (("1s",), {"jitter": -0.1}),
        (("400d",), {}),
        ((5,), {}),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments: tuple[Any], options: dict[str, Any]) -> None:
    """ER-2"""
    with pytest.raises(InvalidOption):
        Backoff(*arguments, **options)


def test_waits_that_shrink_are_refused() -> None:
    """ER-2"""
    with pytest.raises(InvalidOption, match="must be at least 1"):
        Backoff.exponential("1s", factor=0.5)


def test_a_policy_is_its_own_or_a_preset_or_the_default() -> None:
    """ER-2"""
    own = Backoff("3s")
    assert [policy(own), policy("mail"), policy(None)] == [own, PRESETS["mail"], PRESETS["default"]]


def test_equal_policies_are_equal() -> None:
    """ER-2"""
    assert Backoff("1s") == Backoff(timedelta(seconds=1)) != Backoff("2s")
