"""A lease that was in doubt and is renewed: what was stopped meanwhile is not forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish, statuses
from todoke import Attempt, Todoke
from todoke.errors import LeaseLost
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.slots import InlineSlots


class Doubt:
    """The first attempt is stopped for longer than its lease, and told so when it asks."""

    def __init__(self, app: Todoke) -> None:
        self.told: list[int] = []
        self._clock = app.clock

    def ask(self, attempt: Attempt) -> None:
        if not self.told:
            assert isinstance(self._clock, Clock)
            self._clock.advance("1h")
        try:
            attempt.check()
        except LeaseLost:
            self.told.append(attempt.number)
            raise


@contextmanager
def working(app: Todoke) -> Iterator[Runtime]:
    """A process that nobody has declared dead, and that renews its lease at last."""
    runtime = Runtime(app)
    worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
    with app.engine.connect() as connection:
        runtime.membership.join(connection)
        for _ in range(20):
            worker.tick(connection)
            runtime.membership.tick(connection)
        yield runtime


@pytest.mark.parametrize("kind", ["def", "async def", "with a session"])
def test_a_message_whose_attempt_stopped_for_a_doubtful_lease_is_tried_again(
    app: Todoke, kind: str
) -> None:
    """OB-7: at no attempt's cost; the process still owns it, so nobody else would return it"""
    doubt = Doubt(app)
    if kind == "def":

        @app.on(Placed)
        def note(event: Placed, attempt: Attempt) -> None:
            doubt.ask(attempt)
    elif kind == "async def":

        @app.on(Placed)
        async def note_async(event: Placed, attempt: Attempt) -> None:
            doubt.ask(attempt)
    else:

        @app.on(Placed)
        def note_with_session(event: Placed, session: Session, attempt: Attempt) -> None:
            doubt.ask(attempt)

    publish(app, Placed(order_id=1))
    with working(app) as runtime:
        assert doubt.told == [1]
        assert statuses(app) == [("PROCESSED", 1)]
        assert runtime.counts["handed_back"] == 1


def test_a_person_is_asked_about_what_stopped_for_a_doubtful_lease(app: Todoke) -> None:
    """OB-7: what `on_crash="ask"` had begun is not begun again"""
    doubt = Doubt(app)

    @app.on(Placed, on_crash="ask")
    def charge(event: Placed, attempt: Attempt) -> None:
        doubt.ask(attempt)

    publish(app, Placed(order_id=1))
    with working(app):
        assert [one.code for one in letters(app)] == ["OUTCOME_UNKNOWN"]
        assert living(app) == []
