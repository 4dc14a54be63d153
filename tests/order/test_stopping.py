"""An orderly end in the middle of a key keeps its order."""

from __future__ import annotations

import pytest

from tests.application import living, publish, statuses
from tests.order.hands import hands
from tests.order.walks import WAYS, Journal, barriers, later, listen, states, steps
from todoke import Todoke, TransientError
from todoke.testing import Clock


@pytest.mark.parametrize("way", WAYS)
def test_what_is_handed_back_is_delivered_in_order_by_the_next(
    app: Todoke, journal: Journal, way: str
) -> None:
    """OB-9 OB-7"""
    listen(app, journal, way)
    publish(app, *steps("a", 1, 2, 3, 4))
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick(20)
        worker.slots.perform()
        worker.tick()
        assert journal.of("a") == [1]
        worker.stop()
    assert [(row.state, row.owner, row.attempt - row.spared) for row in living(app)] == [
        ("ready", None, 0)
    ] * 3
    publish(app, *steps("a", 5))
    app.drain()
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3, 4, 5], [])
    assert statuses(app) == [("PROCESSED", 1)] * 5


def test_a_held_key_stays_held_over_an_end(app: Todoke, journal: Journal, clock: Clock) -> None:
    """OB-9 OB-7"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    with hands(app, 1) as (worker,):
        worker.tick(20)
        worker.stop()
    assert states(app) == ["later", "held"]
    publish(app, *steps("a", 3))
    app.drain()
    assert (journal.seen, states(app)) == ([], ["later", "held", "held"])
    later(app, clock)
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])


def test_a_head_that_fails_as_the_worker_ends_holds_what_waited_in_hand(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick(20)
        worker.slots.perform()
        worker.stop()
    assert states(app) == ["later", "held", "held"]
    later(app, clock)
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])
