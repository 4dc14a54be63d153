"""A broker that repeats itself, and who hears of it."""

from __future__ import annotations

import pytest

from tests.testing.post import (
    Mailer,
    OrderCancelled,
    OrderConfirmed,
    OrderCounted,
    OrderMailed,
    OrderPacked,
    publish,
    sold,
)
from todoke.testing import Harness


def test_a_handler_without_a_session_sees_the_same_key_again(todoke: Harness) -> None:
    """TS-2 ID-1"""
    mailer = todoke.override(Mailer, Mailer())
    publish(todoke, OrderMailed(order_id=1), OrderMailed(order_id=1), OrderMailed(order_id=2))
    todoke.drain()
    todoke.redeliver(OrderMailed)
    todoke.drain()
    assert (mailer.sent, len(mailer.calls)) == (3, 6)
    assert todoke.published(OrderMailed) == [
        OrderMailed(order_id=1),
        OrderMailed(order_id=1),
        OrderMailed(order_id=2),
    ]


@pytest.mark.parametrize("kind", [OrderMailed, OrderPacked])
def test_again_and_again(todoke: Harness, kind: type[OrderMailed | OrderPacked]) -> None:
    """TS-2: once each time, whether it is handled in place or as a delivery"""
    mailer = todoke.override(Mailer, Mailer())
    publish(todoke, kind(order_id=1))
    for _ in range(3):
        todoke.drain()
        todoke.redeliver(kind)
    todoke.drain()
    assert (mailer.sent, len(mailer.calls)) == (1, 4)


@pytest.mark.parametrize("kind", [OrderCancelled, OrderCounted])
def test_a_handler_with_a_session_does_not(
    todoke: Harness, kind: type[OrderCancelled | OrderCounted]
) -> None:
    """TS-2 OB-3: its message was settled with its effect"""
    publish(todoke, kind(order_id=1))
    todoke.drain()
    todoke.redeliver(kind)
    todoke.drain()
    assert sold(todoke) == 1


def test_of_several_handlers_only_those_without_a_session_do(todoke: Harness) -> None:
    """TS-2"""
    mailer = todoke.override(Mailer, Mailer())
    publish(todoke, OrderConfirmed(order_id=1))
    todoke.drain()
    todoke.redeliver(OrderConfirmed)
    todoke.drain()
    assert (sold(todoke), mailer.sent, len(mailer.calls)) == (1, 1, 2)


def test_what_waits_behind_it_is_not_held_up(todoke: Harness) -> None:
    """TS-2: a repeat has no place in the order"""
    mailer = todoke.override(Mailer, Mailer())
    publish(todoke, OrderMailed(order_id=1))
    todoke.drain()
    todoke.redeliver(OrderMailed)
    publish(todoke, OrderMailed(order_id=1))
    todoke.drain()
    assert (mailer.sent, len(mailer.calls)) == (2, 3)


def test_what_is_not_settled_cannot_be_repeated(todoke: Harness) -> None:
    """TS-2: a test that forgot to drain would pass for ever"""
    publish(todoke, OrderMailed(order_id=1))
    with pytest.raises(AssertionError, match="No OrderMailed is settled yet"):
        todoke.redeliver(OrderMailed)
