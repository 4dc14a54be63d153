"""A head that is tried again holds its key, and nothing else."""

from __future__ import annotations

import pytest

from tests.application import letters, living, publish, statuses
from tests.order.walks import WAYS, Journal, barriers, later, listen, states, steps
from todoke import Backoff, Retry, Snooze, Todoke, TransientError
from todoke.testing import Clock


@pytest.mark.parametrize("way", WAYS)
def test_followers_wait_for_a_head_that_fails_and_follow_in_order(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9 OB-8"""
    listen(app, journal, way)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3), *steps("b", 1, 2))
    app.drain()
    assert (journal.of("a"), journal.of("b")) == ([], [1, 2])
    assert states(app) == ["later", "held", "held"]
    later(app, clock)
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3], [], [])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_published_meanwhile_keeps_its_place_behind_them(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9"""
    listen(app, journal, way)
    journal.answer("a", 1, TransientError("busy"), TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    publish(app, *steps("a", 3), *steps("b", 1))
    app.drain()
    assert (journal.of("a"), journal.of("b"), states(app)) == ([], [1], ["later", "held", "held"])
    later(app, clock, "2s")
    publish(app, *steps("a", 4))
    later(app, clock, "10s")
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3, 4], [], [])


def test_waiting_costs_the_followers_no_attempt(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-8"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"), TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    for _ in range(3):
        later(app, clock)
    assert sorted(statuses(app)) == [("PROCESSED", 1), ("PROCESSED", 1), ("PROCESSED", 3)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", [Retry(after="5s"), Snooze("5s")], ids=["retry", "snooze"])
def test_a_head_that_asks_for_time_holds_its_followers(
    app: Todoke, journal: Journal, clock: Clock, way: str, answer: Retry | Snooze
) -> None:
    """OB-9"""
    listen(app, journal, way)
    journal.answer("a", 1, answer)
    publish(app, *steps("a", 1, 2))
    app.drain()
    later(app, clock, "4s")
    assert (journal.seen, states(app)) == ([], ["later", "held"])
    later(app, clock, "1s")
    assert journal.of("a") == [1, 2]


def test_a_follower_that_fails_is_the_next_head(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"))
    journal.answer("a", 2, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    later(app, clock)
    assert (journal.of("a"), states(app)) == ([1], ["later", "held"])
    later(app, clock)
    assert (journal.of("a"), letters(app)) == ([1, 2, 3], [])


def test_many_followers_replay_in_runs_and_in_order(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: more than are readied at once, and one of them fails on the way"""
    listen(app, journal, retry=Backoff("5s"))
    journal.answer("a", 0, TransientError("busy"))
    journal.answer("a", 130, TransientError("busy"))
    publish(app, *steps("a", *range(251)))
    app.drain()
    publish(app, *steps("a", 251))
    later(app, clock)
    assert journal.of("a") == [*range(130)]
    publish(app, *steps("a", 252))
    later(app, clock)
    assert (journal.of("a"), living(app), barriers(app)) == ([*range(253)], [], [])
