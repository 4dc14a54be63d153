"""What users write: the examples of the guide, on every database."""

from __future__ import annotations

from tests.testing.post import (
    BrokenMailer,
    Mailer,
    OrderCancelled,
    OrderConfirmed,
    confirm,
    ordering,
    publish,
    sold,
)
from todoke.testing import Harness


def test_a_confirmed_order_is_mailed_once(todoke: Harness) -> None:
    """TS-1 TS-2 ID-1"""
    mailer = todoke.override(Mailer, Mailer())
    with todoke.session() as session:
        confirm(session, 1)
    assert todoke.published(OrderConfirmed) == [OrderConfirmed(order_id=1)]
    todoke.drain()
    todoke.redeliver(OrderConfirmed)
    todoke.drain()
    assert (mailer.sent, len(mailer.calls)) == (1, 2)


async def test_a_broken_mail_server_leaves_a_dead_letter(todoke: Harness) -> None:
    """TS-1"""
    todoke.override(Mailer, BrokenMailer())
    async with todoke.async_session() as session:
        ordering.publish(session, OrderConfirmed(order_id=1))
    for _ in range(3):
        await todoke.adrain()
        todoke.clock.advance("3m")
    assert [(one.name, one.attempts) for one in todoke.dead_letters()] == [("order-mail", 3)]


def test_a_crash_after_the_commit_repeats_nothing(todoke: Harness) -> None:
    """TS-2"""
    publish(todoke, OrderCancelled(order_id=1))
    with todoke.crash("handler.after_commit"):
        todoke.drain()
    todoke.drain()
    assert sold(todoke) == 1
