"""Room at a destination whose granting got no reply: the slots are not lost with it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from tests.application import Noted, publish
from tests.order.broken_lines import line_breaks
from tests.order.hands import hands, seconds_pass
from todoke import Limit, Todoke
from todoke.testing import Clock
from todoke.work.item import Item


def slots_held(app: Todoke) -> int:
    with app.engine.begin() as connection:
        return sum(one.slots_held for one in app.destinations.status(connection))


def test_slots_that_were_granted_without_a_reply_are_given_back(app: Todoke, clock: Clock) -> None:
    """OB-15 ID-6: the process lives on, so nobody else would free them"""
    seen: list[int] = []

    @app.on(Noted, limit=Limit(2))
    def call(event: Noted) -> None:
        seen.append(event.order_id)

    publish(app, *(Noted(order_id=number) for number in range(4)))
    with hands(app, 1) as (worker,):
        with (
            line_breaks(worker, app, lambda: slots_held(app) == 2),
            pytest.raises(OperationalError),
        ):
            worker.tick(5)
        assert slots_held(app) == 2
        seconds_pass(clock, [worker], 12)
        assert (sorted(seen), slots_held(app)) == ([0, 1, 2, 3], 0)


def test_slots_are_given_back_when_the_claim_they_were_for_fails(
    app: Todoke, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-15 ID-6: a deadlock took no rows, and yet there was room taken for them"""
    seen: list[int] = []

    @app.on(Noted, limit=Limit(2))
    def call(event: Noted) -> None:
        seen.append(event.order_id)

    take = app.claims[1].take

    def deadlock(*arguments: Any) -> list[Item]:
        if slots_held(app):
            raise Deadlock
        return take(*arguments)

    publish(app, *(Noted(order_id=number) for number in range(4)))
    with hands(app, 1) as (worker,):
        with monkeypatch.context() as patch, pytest.raises(Deadlock):
            patch.setattr(app.database, "passes", lambda error: isinstance(error, Deadlock))
            patch.setattr(app.claims[1], "take", deadlock)
            worker.tick(5)
        assert slots_held(app) == 2
        seconds_pass(clock, [worker], 12)
        assert (sorted(seen), slots_held(app)) == ([0, 1, 2, 3], 0)


class Deadlock(Exception):
    """The server's answer: nothing was done."""
