"""Failures: when they are tried again, and when they are given up."""

from __future__ import annotations

from tests.application import Placed, Steady, letters, living, publish, statuses
from todoke import Backoff, PermanentError, Todoke, TransientError
from todoke.testing import Clock


class Broken(Exception):
    """Something that may pass."""


def failing(app: Todoke, retry: Backoff | str | None = None) -> list[int]:
    """Register a handler that always fails; answers the list of its attempts."""
    attempts: list[int] = []

    @app.on(Placed, retry=retry)
    def fail(event: Placed) -> None:
        attempts.append(len(attempts) + 1)
        raise Broken("no luck")

    return attempts


def test_each_attempt_waits_as_long_as_its_policy_says(app: Todoke, clock: Clock) -> None:
    """ER-2 OB-3"""
    attempts = failing(app)
    publish(app, Placed(order_id=1))
    for wait in ("1s", "2s", "4s"):
        app.drain()
        before = len(attempts)
        clock.advance("999ms")
        app.drain()
        assert len(attempts) == before or wait == "1s"
        clock.advance(wait)
    app.drain()
    assert attempts == [1, 2, 3, 4]


def test_nothing_is_tried_before_its_time(app: Todoke, clock: Clock) -> None:
    """ER-2"""
    attempts = failing(app, Backoff("10s", jitter=0))
    publish(app, Placed(order_id=1))
    app.drain()
    clock.advance("9.999s")
    app.drain()
    assert attempts == [1]
    clock.advance("1ms")
    app.drain()
    assert attempts == [1, 2]


def test_a_waiting_message_is_pending_and_knows_its_error(app: Todoke) -> None:
    """OB-2 OB-3"""
    failing(app, "mail")
    publish(app, Placed(order_id=1))
    app.drain()
    (row,) = living(app)
    assert statuses(app) == [("PENDING", 1)]
    assert (row.error_class, row.error_code, row.error_message, row.max_attempts) == (
        "transient", "BROKEN", "no luck", 3,
    )  # fmt: skip


def test_out_of_attempts_is_a_complete_dead_letter(app: Todoke, clock: Clock) -> None:
    """ER-3 OB-3"""
    failing(app, Backoff("1s"))
    publish(app, Placed(order_id=7))
    app.drain()
    clock.advance("2s")
    app.drain()
    (letter,) = letters(app)
    assert (letter.source, letter.type, letter.key, letter.context) == (
        "event", "placed", "7", "todoke",
    )  # fmt: skip
    assert (letter.error_class, letter.code, letter.message, letter.attempts) == (
        "transient", "BROKEN", "no luck", 2,
    )  # fmt: skip
    assert letter.traceback.rstrip().endswith("Broken: no luck")
    assert (letter.body, letter.died_at) == ('{"note":"","order_id":7}', clock.now())
    assert statuses(app) == [("DEAD", 2)]


def test_a_dead_message_is_not_tried_again(app: Todoke, clock: Clock) -> None:
    """OB-3"""
    attempts = failing(app, Backoff(attempts=1))
    publish(app, Placed(order_id=1))
    app.drain()
    clock.advance("1d")
    app.drain()
    assert attempts == [1]


def test_an_error_may_say_when_to_come_back(app: Todoke, clock: Clock) -> None:
    """ER-1 ER-2"""
    attempts: list[int] = []

    @app.on(Placed)
    def busy(event: Placed) -> None:
        attempts.append(1)
        raise TransientError("busy", code="BUSY", after="10m")

    publish(app, Placed(order_id=1))
    app.drain()
    clock.advance("599s")
    app.drain()
    assert len(attempts) == 1
    clock.advance("1s")
    app.drain()
    assert len(attempts) == 2


def test_one_failure_delays_no_neighbour(app: Todoke) -> None:
    """OB-8"""

    @app.on(Placed)
    def pick(event: Placed) -> None:
        if event.order_id == 1:
            raise PermanentError("never")
        if event.order_id == 2:
            raise Broken("not now")

    publish(app, *(Placed(order_id=n) for n in range(4)))
    app.drain()
    assert sorted(statuses(app)) == [
        ("DEAD", 1), ("PENDING", 1), ("PROCESSED", 1), ("PROCESSED", 1),
    ]  # fmt: skip


def test_jitter_spreads_the_herd(app: Todoke, clock: Clock) -> None:
    """ER-2"""
    app.random = Steady([0.0, 1.0])
    failing(app, Backoff("100s", jitter=0.1))
    publish(app, Placed(order_id=1), Placed(order_id=2))
    app.drain()
    waits = [(row.scheduled_at - clock.now()).total_seconds() for row in living(app)]
    assert sorted(waits) == [90.0, 110.0]
