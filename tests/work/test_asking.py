"""A time limit and a handler that wants a person asked: only where the outcome is unknown."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish
from tests.order.hands import hands
from tests.waiting import until
from tests.work.running import quick_application, worker
from todoke import Todoke, crash
from todoke.testing import Clock


class Slow:
    """Cannot be had in time."""


def test_a_person_is_asked_when_its_time_was_up(app: Todoke) -> None:
    """ER-1 SH-4"""

    @app.on(Placed, on_crash="ask")
    def send(event: Placed) -> None:
        raise TimeoutError("no answer")

    publish(app, Placed(order_id=1))
    app.drain()
    assert [one.code for one in letters(app)] == ["OUTCOME_UNKNOWN"]


def test_with_a_session_the_outcome_is_known_and_it_is_tried_again(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed, on_crash="ask")
    def book(event: Placed, session: Session) -> None:
        raise TimeoutError("no answer")

    publish(app, Placed(order_id=1))
    app.drain()
    assert ([row.error_code for row in living(app)], letters(app)) == (["TIMEOUT"], [])


def test_what_never_started_is_tried_again(app: Todoke) -> None:
    """ER-1: a provider ran out of time, the handler was not called"""

    @app.provide
    def slow() -> Slow:
        raise TimeoutError("no connection")

    @app.on(Placed, on_crash="ask")
    def send(event: Placed, slow: Slow) -> None: ...

    publish(app, Placed(order_id=1))
    app.drain()
    assert ([row.error_code for row in living(app)], letters(app)) == (["TIMEOUT"], [])


def test_what_was_given_up_while_it_was_marked_is_not_called(migrated_url: str) -> None:
    """OB-7 ER-1: a person looks for its effect by now; it must not come afterwards"""
    called: list[int] = []
    with quick_application(migrated_url) as app:

        @app.on(Placed, on_crash="ask", timeout="100ms")
        def send(event: Placed) -> None:
            called.append(event.order_id)

        def stand_still(name: str) -> None:
            if name == "handler.after_started_mark":
                until(lambda: letters(app))
                marked.set()

        marked = threading.Event()
        publish(app, Placed(order_id=1))
        before = crash.arm(stand_still)
        try:
            with worker(app):
                assert marked.wait(30)
        finally:
            crash.arm(before)
        assert ([one.code for one in letters(app)], called) == (["OUTCOME_UNKNOWN"], [])


@pytest.mark.parametrize("way", ["def", "async def"])
def test_what_was_marked_too_late_does_not_start(app: Todoke, clock: Clock, way: str) -> None:
    """OB-7 OB-9: the process stood still while it marked the start; its key may have gone on"""
    started: list[int] = []
    stands_still = iter([True])

    def send(event: Placed) -> None:
        started.append(event.order_id)

    async def send_async(event: Placed) -> None:
        started.append(event.order_id)

    def stand_still(name: str) -> None:
        if name == "handler.after_started_mark" and next(stands_still, False):
            clock.advance("1h")

    app.on(Placed, on_crash="ask")(send if way == "def" else send_async)
    publish(app, Placed(order_id=1))
    with hands(app, 1) as (worker,):
        before = crash.arm(stand_still)
        try:
            worker.tick(2)
        finally:
            crash.arm(before)
        assert started == []
        (row,) = living(app)
        assert (row.owner, row.started, row.attempt - row.spared) == (None, False, 0)
