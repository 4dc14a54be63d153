"""A worker that dies where the test says, and what the next one finds."""

from __future__ import annotations

import pytest

from tests.testing import post
from tests.testing.post import (
    Mailer,
    OrderCancelled,
    OrderConfirmed,
    OrderCounted,
    OrderMailed,
    publish,
    sold,
)
from todoke.crash import Died
from todoke.errors import InvalidOption
from todoke.testing import Harness

IN_SESSION = [
    "claim.before_commit",
    "claim.after_commit",
    "handler.before_start",
    "handler.after_guard",
    "handler.after_call",
    "handler.before_commit",
    "handler.after_commit",
    "shutdown.before_hand_back",
]


@pytest.mark.parametrize("point", IN_SESSION)
@pytest.mark.parametrize("kind", [OrderCancelled, OrderCounted])
def test_an_effect_in_a_session_is_there_once_wherever_the_worker_died(
    todoke: Harness, point: str, kind: type[OrderCancelled | OrderCounted]
) -> None:
    """TS-2 OB-3"""
    publish(todoke, kind(order_id=1))
    with todoke.crash(point):
        todoke.drain()
    todoke.drain()
    assert (sold(todoke), todoke.dead_letters()) == (1, [])


@pytest.mark.parametrize("point", ["handler.after_call", "settle.before_commit"])
def test_without_a_session_the_same_key_comes_again(todoke: Harness, point: str) -> None:
    """TS-2 ID-1"""
    mailer = todoke.override(Mailer, Mailer())
    publish(todoke, OrderMailed(order_id=1))
    with todoke.crash(point):
        todoke.drain()
    todoke.drain()
    assert (mailer.sent, len(mailer.calls)) == (1, 2)


def test_the_dead_hand_nothing_back_and_the_next_one_rescues(todoke: Harness) -> None:
    """TS-2 OB-7: what was in hand is still its own until then"""
    todoke.override(Mailer, Mailer())
    publish(todoke, OrderMailed(order_id=1))
    with todoke.crash("handler.before_start"):
        todoke.drain()
    assert "PROCESSING order-mailed 1, attempt 1" in todoke.story()
    todoke.drain()
    assert "PROCESSED  order-mailed 1, attempt 1" in todoke.story()


async def test_async_code_drains_and_dies_the_same_way(todoke: Harness) -> None:
    """TS-2"""
    async with todoke.async_session() as session:
        post.ordering.publish(session, OrderCounted(order_id=1))
    with todoke.crash("handler.before_commit"):
        await todoke.adrain()
    await todoke.adrain()
    assert sold(todoke) == 1


def test_publishing_can_die_too(todoke: Harness) -> None:
    """TS-2 OB-1"""
    with todoke.crash("publish.after_insert"):
        publish(todoke, OrderMailed(order_id=1))
    todoke.assert_not_published(OrderMailed)


def test_what_kills_its_worker_each_time_becomes_a_dead_letter(todoke: Harness) -> None:
    """TS-2 OB-7: as a supervisor would, the worker is started again after each death"""
    publish(todoke, OrderMailed(order_id=1), OrderCancelled(order_id=2))
    with todoke.crash("handler.after_call", times=4):
        todoke.drain()
    todoke.drain()
    assert [(letter.key, letter.code) for letter in todoke.dead_letters()] == [("1", "CRASHED")]
    assert sold(todoke) == 1


def test_what_a_provider_made_for_the_dead_is_not_ended_by_the_living(todoke: Harness) -> None:
    """TS-2: the next process makes its own; all are ended with the test"""
    before = len(post.provided)
    publish(todoke, OrderMailed(order_id=1))
    with todoke.crash("handler.after_call"):
        todoke.drain()
    todoke.drain()
    first, second = post.provided[before:]
    assert (first.closed, second.closed) == (False, True)
    todoke.__exit__(None, None, None)
    assert first.closed


def test_other_workers_keep_their_leases(todoke: Harness) -> None:
    """TS-2"""
    runtime_row = {"queues": "{}", "registers": "{}", "name": "elsewhere:1"}
    other = todoke.app.identities.draw()
    workers, now = todoke.app.worker_table, todoke.clock.now()
    moments = dict.fromkeys(("started_at", "renewed_at", "lease_until"), now)
    with todoke.engine.begin() as connection:
        connection.execute(workers.insert(), {"id": other, **runtime_row, **moments})
    publish(todoke, OrderCancelled(order_id=1))
    with todoke.crash("handler.before_commit"):
        todoke.drain()
    todoke.drain()
    with todoke.engine.connect() as connection:
        assert [row.id for row in connection.execute(workers.select())] == [other]


def test_a_point_that_does_not_exist_is_refused(todoke: Harness) -> None:
    """TS-2"""
    with (
        pytest.raises(InvalidOption, match=r"handler\.after_commit"),
        todoke.crash("handler.nowhere"),
    ):
        pass
    with (
        pytest.raises(InvalidOption, match="at least 1"),
        todoke.crash("settle.after_commit", times=0),
    ):
        pass


@pytest.mark.parametrize("times", [1, 2])
def test_a_point_that_is_not_passed_often_enough_fails_the_test(
    todoke: Harness, times: int
) -> None:
    """TS-2: a test that cannot fail is a defect"""
    if times == 2:
        publish(todoke, OrderCancelled(order_id=1))
    with (
        pytest.raises(AssertionError, match=f"died there {times - 1} times, expected {times}"),
        todoke.crash(
            "shutdown.before_hand_back" if times == 1 else "handler.after_commit", times=times
        ),
    ):
        if times == 2:
            todoke.drain()


def test_another_error_in_the_block_is_not_swallowed(todoke: Harness) -> None:
    """TS-2"""
    with pytest.raises(ZeroDivisionError), todoke.crash("handler.after_commit"):
        _ = 1 / 0


def test_after_the_block_nobody_dies_any_more(todoke: Harness) -> None:
    """TS-2"""
    publish(todoke, OrderConfirmed(order_id=1))
    with todoke.crash("claim.after_commit"):
        todoke.drain()
    try:
        todoke.drain()
    except Died:
        pytest.fail("the point is still armed")
