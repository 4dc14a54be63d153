"""How hard a destination may be pressed: what can be declared, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from todoke.errors import InvalidOption
from todoke.limits import Bounds, Breaker, Limit, Rate, bounds, queue_bounds


def test_a_breaker_waits_for_five_failures_and_rests_half_a_minute() -> None:
    """ID-6"""
    breaker = Breaker()
    assert (breaker.name, breaker.failures, breaker.rest) == (None, 5, timedelta(seconds=30))


def test_equal_policies_are_equal() -> None:
    """ID-6"""
    assert Rate(100, "1m") == Rate(100, timedelta(minutes=1)) != Rate(100, "2m")
    assert Breaker("psp", rest="1m") == Breaker("psp", rest="60s") != Breaker("psp")
    assert Limit(4) == Limit(4) != Limit(5)


def test_policies_cannot_be_changed() -> None:
    """ID-6"""
    with pytest.raises(AttributeError):
        Limit(4).at_once = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: Limit(0), r"Limit\(at_once\) = 0: must be at least 1\."),
        (lambda: Limit(cast(Any, 2.5)), r"Limit\(at_once\) = 2.5: must be a whole number\."),
        (lambda: Limit(True), r"Limit\(at_once\) = True: must be a whole number\."),
        (lambda: Limit(10_001), r"at most 10,000, or no limit\."),
        (lambda: Limit(1_001, per="tenant"), r"at most 1,000, or no limit\."),
        (lambda: Limit(1, per="the tenant"), r"Limit\(per\) = 'the tenant': must be a field"),
        (lambda: Limit(1, per=cast(Any, 7)), r"Limit\(per\) = 7: must be a field"),
        (lambda: Rate(0, "1m"), r"Rate\(count\) = 0: must be at least 1\."),
        (lambda: Rate(100, "0s"), r"Rate\(within\) = '0s': must be longer than nothing\."),
        (lambda: Rate(100, cast(Any, 60)), r"Rate\(within\) = 60: a number has no unit\."),
        (lambda: Breaker("psp", failures=0), r"Breaker\(failures\) = 0: must be at least 1\."),
        (lambda: Breaker("psp", rest="0s"), r"Breaker\(rest\) = '0s': must be longer"),
        (lambda: Breaker(" "), r"Breaker\(name\) = ' ': must be a name"),
        (lambda: Breaker("a/b"), r'no "/"\. Write Breaker\(name\) with a shorter name\.'),
        (lambda: Breaker("a" * 101), r"at most 100 characters"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_remedy(
    declare: Callable[[], Any], message: str
) -> None:
    """ID-6"""
    with pytest.raises(InvalidOption, match=message):
        declare()


def test_a_handler_that_nothing_binds_has_no_destination() -> None:
    """ID-6"""
    assert bounds("mail", None, None) is None
    assert bounds("mail", [], None) is None


def test_a_destination_is_called_after_the_breaker_or_else_after_the_handler() -> None:
    """ID-6"""
    named, unnamed = Breaker("psp"), Breaker()
    assert bounds("take", None, named) == Bounds("psp", breaker=named)
    assert bounds("take", None, unnamed) == Bounds("take", breaker=unnamed)
    assert bounds("take", Limit(4), None) == Bounds("take", limit=Limit(4))


def test_a_limit_and_a_rate_bind_together() -> None:
    """ID-6"""
    both = Bounds("take", limit=Limit(4), rate=Rate(100, "1m"))
    assert bounds("take", [Limit(4), Rate(100, "1m")], None) == both
    assert bounds("take", (Rate(100, "1m"), Limit(4)), None) == both


def test_a_job_may_be_bound_as_a_whole_and_by_key() -> None:
    """JB-9"""
    whole, each = Limit(10), Limit(1, per="tenant")
    both = Bounds("serve", limit=whole, rate=Rate(9, "1m"), per_key=each)
    assert bounds("serve", [whole, each, Rate(9, "1m")], None, has_keys=True) == both
    assert bounds("serve", (Rate(9, "1m"), each, whole), None, has_keys=True) == both
    assert bounds("serve", each, None, has_keys=True) == Bounds("serve", per_key=each)
    assert callable(Limit(1, per=lambda errand: errand.tenant).per)
    with pytest.raises(InvalidOption, match=r"one Limit with per= is enough"):
        bounds("serve", [each, Limit(2, per="shop")], None, has_keys=True)


def test_events_are_kept_in_order_by_their_key_instead() -> None:
    """JB-9"""
    with pytest.raises(InvalidOption, match=r"take: limit = .*per= is for jobs\..* Key"):
        bounds("take", [Limit(4), Limit(1, per="tenant")], None)


def test_a_queue_is_bound_by_its_settings() -> None:
    """JB-9"""
    assert queue_bounds("files", {}) is None
    bound = Bounds("queue:files", limit=Limit(4), rate=Rate(100, "1m"))
    assert queue_bounds("files", {"limit": 4, "rate": "100/1m"}) == bound
    assert queue_bounds("files", {"limit": "4", "rate": " 100 / 60s "}) == bound


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"limit": "few"}, r"queues.files.limit = 'few': must be a whole number"),
        ({"limit": 0}, r"queues.files.limit = 0: must be at least 1"),
        ({"rate": "100"}, r"queues.files.rate = '100': write how many per how long"),
        ({"rate": "0/1m"}, r"queues.files.rate = 0: must be at least 1"),
        ({"rate": "many/1m"}, r"queues.files.rate = 'many/1m': write how many"),
    ],
)
def test_what_a_queue_cannot_be_bound_by_is_refused(said: dict[str, object], message: str) -> None:
    """JB-9"""
    with pytest.raises(InvalidOption, match=message):
        queue_bounds("files", said)


@pytest.mark.parametrize(
    ("limit", "breaker", "message"),
    [
        ([Limit(4), Limit(5)], None, r"take: limit = .*: one Limit is enough\."),
        ([Rate(1, "1s"), Rate(9, "1m")], None, r"take: limit = .*: one Rate is enough\."),
        (4, None, r"take: limit = 4: write Limit\(4\)"),
        ([None], None, r"take: limit = \[None\]: write Limit\(4\)"),
        (None, "psp", r"take: breaker = 'psp': write Breaker\("),
    ],
)
def test_bounds_that_cannot_be_meant_are_refused(limit: Any, breaker: Any, message: str) -> None:
    """ID-6"""
    with pytest.raises(InvalidOption, match=message):
        bounds("take", limit, breaker)


def test_a_handler_with_a_long_name_needs_a_breaker_with_a_shorter_one() -> None:
    """ID-6"""
    with pytest.raises(InvalidOption, match="shorter name"):
        bounds("a" * 101, Limit(1), None)
    assert bounds("a" * 101, Limit(1), Breaker("psp"))
