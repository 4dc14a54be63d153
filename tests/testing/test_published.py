"""What was published can be read back as events, however far they are."""

from __future__ import annotations

import pytest

from tests.testing.post import (
    BrokenMailer,
    Mailer,
    OrderCancelled,
    OrderConfirmed,
    OrderingEvent,
    OrderMailed,
    ordering,
    publish,
)
from todoke import Event
from todoke.errors import InvalidOption, UnknownEvent
from todoke.testing import Harness


class NeverSeen(Event, ordered=False):
    pass


def test_waiting_processed_and_dead_events_are_told_in_the_order_of_publishing(
    todoke: Harness,
) -> None:
    """TS-1"""
    todoke.override(Mailer, BrokenMailer())
    publish(todoke, OrderMailed(order_id=1))
    for _ in range(3):
        todoke.drain()
        todoke.clock.advance("2m")
    publish(todoke, OrderCancelled(order_id=2))
    todoke.drain()
    publish(todoke, OrderMailed(order_id=3), OrderCancelled(order_id=1))
    assert len(todoke.dead_letters()) == 1
    assert todoke.published(OrderMailed) == [OrderMailed(order_id=1), OrderMailed(order_id=3)]
    assert todoke.published(OrderingEvent) == [
        OrderMailed(order_id=1),
        OrderCancelled(order_id=2),
        OrderMailed(order_id=3),
        OrderCancelled(order_id=1),
    ]


def test_a_redriven_event_is_told_once(todoke: Harness) -> None:
    """TS-1"""
    todoke.override(Mailer, BrokenMailer())
    publish(todoke, OrderMailed(order_id=1))
    for _ in range(3):
        todoke.drain()
        todoke.clock.advance("2m")
    with todoke.session() as session:
        letters = todoke.app.dead_letters
        letters.redrive(session, letters.where(), by="mika", reason="mail is back")
    assert todoke.published(OrderMailed) == [OrderMailed(order_id=1)]


def test_what_was_rolled_back_or_is_not_committed_is_not_told(todoke: Harness) -> None:
    """TS-1 OB-1"""
    with todoke.session() as session:
        ordering.publish(session, OrderMailed(order_id=1))
        session.flush()
        assert todoke.published(OrderMailed) == []
        session.rollback()
    todoke.assert_not_published(OrderMailed)


def test_the_event_that_was_published_is_answered(todoke: Harness) -> None:
    """TS-1"""
    publish(todoke, OrderConfirmed(order_id=1, total=7), OrderConfirmed(order_id=2, total=8))
    assert todoke.assert_published(OrderConfirmed, order_id=2).total == 8
    assert todoke.assert_published(OrderConfirmed, times=2).order_id == 2
    todoke.assert_not_published(OrderConfirmed, order_id=3)


def test_a_failure_shows_what_was_published_instead(todoke: Harness) -> None:
    """TS-1"""
    publish(todoke, OrderConfirmed(order_id=1, total=7), OrderCancelled(order_id=2))
    with pytest.raises(AssertionError) as told:
        todoke.assert_published(OrderConfirmed, order_id=2)
    assert str(told.value).splitlines() == [
        "OrderConfirmed(order_id=2): expected 1, published 0. Published were:",
        "  OrderConfirmed(order_id=1, total=7)",
        "  OrderCancelled(order_id=2)",
    ]
    with pytest.raises(AssertionError, match="expected 2, published 1"):
        todoke.assert_published(OrderConfirmed, times=2)
    with pytest.raises(AssertionError, match="expected none, published 1"):
        todoke.assert_not_published(OrderingEvent, order_id=2)


def test_nothing_at_all_is_said_so(todoke: Harness) -> None:
    """TS-1"""
    with pytest.raises(AssertionError, match="Nothing was published, or it is not committed"):
        todoke.assert_published(NeverSeen)


def test_a_misspelt_field_is_refused(todoke: Harness) -> None:
    """TS-1: it would fit no event, and a test for its absence would pass for ever"""
    with pytest.raises(InvalidOption, match="Known: order_id, total"):
        todoke.assert_not_published(OrderConfirmed, order=1)
    with pytest.raises(InvalidOption, match="assert_not_published"):
        todoke.assert_published(OrderConfirmed, times=0)
    with pytest.raises(UnknownEvent):
        todoke.published(int)  # type: ignore[type-var]


def test_the_story_says_what_became_of_each_event(todoke: Harness) -> None:
    """TS-1"""
    todoke.override(Mailer, BrokenMailer())
    publish(todoke, OrderMailed(order_id=1), OrderCancelled(order_id=2))
    todoke.drain()
    told = todoke.story().splitlines()
    assert told[0] == "It is 2026-01-01 00:00:00 UTC."
    assert sorted(told[1:]) == [
        "PENDING    order-mailed 1, attempt 1: CONNECTION_REFUSED_ERROR: no mail server",
        "PROCESSED  order-cancelled 2, attempt 1",
    ]
