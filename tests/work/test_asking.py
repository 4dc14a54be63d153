"""A time limit and a handler that wants a person asked: only where the outcome is unknown."""

from __future__ import annotations

from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish
from todoke import Todoke


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
