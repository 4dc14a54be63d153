"""A test's clock: it stands still, and moves when told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.testing.post import BrokenMailer, Mailer, OrderMailed, ordering, publish
from todoke.errors import InvalidOption
from todoke.testing import Clock, Harness

NINE = datetime(2026, 3, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "told",
    [
        "2026-03-01 09:00",
        "2026-03-01T09:00:00Z",
        "2026-03-01 18:00+09:00",
        NINE,
        NINE.astimezone(timezone(timedelta(hours=9))),
    ],
)
def test_it_is_set_by_text_or_moment(told: str | datetime) -> None:
    """TS-1"""
    clock = Clock()
    clock.set(told)
    assert (clock.now(), clock.now().tzinfo) == (NINE, UTC)


@pytest.mark.parametrize("told", ["tomorrow", "9:00", datetime(2026, 3, 1)])  # noqa: DTZ001
def test_what_is_no_moment_is_refused(told: str | datetime) -> None:
    """TS-1"""
    with pytest.raises(InvalidOption, match="clock"):
        Clock().set(told)


def test_waits_are_measured_by_a_time_that_never_goes_back() -> None:
    """TS-1"""
    clock = Clock("2026-03-01 09:00")
    clock.advance("5m")
    clock.set("2020-01-01")
    clock.advance("5m")
    assert clock.monotonic() == 600


def test_retries_come_when_their_wait_is_over_and_not_before(todoke: Harness) -> None:
    """TS-1 ER-1: 30 s and 60 s, without jitter"""
    mailer = todoke.override(Mailer, BrokenMailer())
    publish(todoke, OrderMailed(order_id=1))
    seen = []
    for wait in ("0s", "29s", "1s", "59s", "1s", "1h"):
        todoke.clock.advance(wait)
        todoke.drain()
        seen.append(len(mailer.calls))
    assert seen == [1, 1, 2, 2, 3, 3]
    assert [letter.attempts for letter in todoke.dead_letters()] == [3]


def test_delays_and_expiry_follow_it(todoke: Harness) -> None:
    """TS-1"""
    mailer = todoke.override(Mailer, Mailer())
    with todoke.session() as session:
        ordering.publish(session, OrderMailed(order_id=1), delay="10m")
        ordering.publish(session, OrderMailed(order_id=2), delay="10m", expires="5m")
    todoke.drain()
    assert mailer.sent == 0
    todoke.clock.advance("10m")
    todoke.drain()
    assert mailer.sent == 1
    assert [letter.code for letter in todoke.dead_letters()] == ["EXPIRED"]
