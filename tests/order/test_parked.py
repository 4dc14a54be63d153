"""What was parked behind a dead letter replays in order once a person has decided."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.application import letters, living, publish, statuses
from tests.order.walks import (
    WAYS,
    Journal,
    Strolled,
    Walked,
    barriers,
    later,
    listen,
    redrive,
    resolve,
    states,
    steps,
)
from todoke import PermanentError, Todoke, TransientError, crash
from todoke.testing import Clock

Act = Callable[[Todoke], int]
ACTS = [pytest.param(redrive, id="redrive"), pytest.param(resolve, id="resolve")]


def park(app: Todoke, journal: Journal, *behind: int, kind: type[Walked] = Walked) -> None:
    """Step 0 is dead; the others stand behind it."""
    journal.always("a", 0, PermanentError("no"))
    publish(app, *steps("a", 0, *behind, kind=kind))
    app.drain()
    journal.fine_now()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("act", ACTS)
def test_followers_replay_in_order(app: Todoke, journal: Journal, act: Act, way: str) -> None:
    """OB-9 ER-4"""
    listen(app, journal, way)
    park(app, journal, 1, 2, 3)
    assert act(app) == 1
    app.drain()
    assert journal.of("a") == ([0, 1, 2, 3] if act is redrive else [1, 2, 3])
    assert (living(app), barriers(app), letters(app)) == ([], [], [])


@pytest.mark.parametrize("way", ["plain", "session"])
@pytest.mark.parametrize("act", ACTS)
def test_more_followers_than_one_run_replay_in_order(
    app: Todoke, journal: Journal, act: Act, way: str
) -> None:
    """OB-9 ER-4: also those that were published while they were parked, or are replayed"""
    listen(app, journal, way)
    park(app, journal, *range(1, 251))
    publish(app, *steps("a", 251, 252))
    app.drain()
    publish(app, *steps("a", 253))
    act(app)
    publish(app, *steps("a", 254))
    app.drain()
    publish(app, *steps("a", 255))
    app.drain()
    assert journal.of("a") == [*range(act is resolve, 256)]
    assert (living(app), barriers(app)) == ([], [])


@pytest.mark.parametrize("act", ACTS)
def test_events_that_come_while_a_long_replay_runs_keep_their_place(
    app: Todoke, journal: Journal, act: Act
) -> None:
    """OB-9: a handler of the replay publishes to its own key"""
    published: list[int] = []

    @app.on(Walked, name="note")
    def note(event: Walked) -> list[Walked] | None:
        journal.enter(event)
        if event.step in (1, 99, 100, 101, 199, 200, 249):
            published.append(250 + len(published))
            return steps("a", published[-1])
        return None

    park(app, journal, *range(1, 250))
    act(app)
    app.drain()
    assert journal.of("a") == [*range(act is resolve, 250), *published]
    assert (living(app), barriers(app), len(published)) == ([], [], 7)


def test_a_redriven_head_that_dies_again_parks_again(app: Todoke, journal: Journal) -> None:
    """OB-9 ER-4"""
    listen(app, journal)
    park(app, journal, 1, 2)
    journal.always("a", 0, PermanentError("still not"))
    redrive(app)
    app.drain()
    assert (journal.seen, states(app), len(letters(app))) == ([], ["held", "held"], 1)
    journal.fine_now()
    redrive(app)
    app.drain()
    assert (journal.of("a"), barriers(app)) == ([0, 1, 2], [])


def test_a_redriven_head_that_is_tried_again_holds_them_on(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 ER-4"""
    listen(app, journal)
    park(app, journal, 1, 2)
    journal.answer("a", 0, TransientError("busy"))
    redrive(app)
    app.drain()
    assert (journal.seen, states(app)) == ([], ["later", "held", "held"])
    later(app, clock)
    assert (journal.of("a"), barriers(app)) == ([0, 1, 2], [])


def test_a_follower_that_dies_while_they_replay_is_the_next_to_park(
    app: Todoke, journal: Journal
) -> None:
    """OB-9 ER-4"""
    listen(app, journal)
    park(app, journal, *range(1, 160))
    journal.always("a", 120, PermanentError("no"))
    redrive(app)
    app.drain()
    assert (journal.of("a"), states(app)) == ([*range(120)], ["held"] * 39)
    journal.fine_now()
    redrive(app)
    app.drain()
    assert (journal.of("a"), barriers(app)) == ([*range(160)], [])


def test_a_skipped_one_that_is_redriven_is_delivered_once_and_out_of_order(
    app: Todoke, journal: Journal
) -> None:
    """OB-9 ER-4: its place is gone, and nobody waits for it again"""
    listen(app, journal, kind=Strolled)
    park(app, journal, 1, 2, kind=Strolled)
    assert journal.of("a") == [1, 2]
    journal.answer("a", 0, TransientError("busy"))
    redrive(app)
    app.drain()
    publish(app, *steps("a", 3, kind=Strolled))
    app.drain()
    assert journal.of("a") == [1, 2, 3]
    app.clock.advance("10s")  # type: ignore[attr-defined]
    app.drain()
    assert (journal.of("a"), letters(app), living(app)) == ([1, 2, 3, 0], [], [])


def test_a_rate_spreads_the_heads_and_their_followers_wait_for_them(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 ER-4"""
    listen(app, journal)
    for walker in "abc":
        journal.always(walker, 0, PermanentError("no"))
        publish(app, *steps(walker, 0, 1))
    app.drain()
    journal.fine_now()
    redrive(app, rate="1/m")
    app.drain()
    assert len(journal.seen) == 2
    later(app, clock, "1m")
    assert len(journal.seen) == 4
    later(app, clock, "1m")
    assert {walker: journal.of(walker) for walker in "abc"} == {key: [0, 1] for key in "abc"}
    assert (living(app), barriers(app)) == ([], [])


def test_a_redriven_one_begins_with_all_its_attempts(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """ER-4: and none of them is one that a late finisher had"""
    listen(app, journal)
    park(app, journal)
    redrive(app)
    (row,) = living(app)
    assert (row.attempt, row.spared) == (1, 1)
    app.drain()
    assert statuses(app) == [("PROCESSED", 1)]


@pytest.mark.parametrize("act", ACTS)
def test_one_handlers_followers_replay_without_the_others(app: Todoke, act: Act) -> None:
    """OB-9 ER-4"""
    mail, count = Journal(), Journal()
    listen(app, mail, name="mail")
    listen(app, count, name="count")
    mail.always("a", 0, PermanentError("no"))
    publish(app, *steps("a", 0, 1, 2))
    app.drain()
    mail.fine_now()
    act(app)
    app.drain()
    assert mail.of("a") == ([0, 1, 2] if act is redrive else [1, 2])
    assert (count.of("a"), barriers(app)) == ([0, 1, 2], [])


def test_a_barrier_lifted_while_a_follower_is_being_claimed_lets_nobody_overtake(
    app: Todoke, journal: Journal
) -> None:
    """OB-9: the newest was claimed alone, and those before it were let go just then"""
    listen(app, journal)
    park(app, journal, 1, 2)
    publish(app, *steps("a", 3))
    passed: list[str] = []

    def lift(name: str) -> None:
        if not passed and name == "claim.after_commit" and any(row.owner for row in living(app)):
            passed.append(name)
            resolve(app)

    before = crash.arm(lift)
    try:
        app.drain()
    finally:
        crash.arm(before)
    assert passed
    assert journal.seen == [("a", 1), ("a", 2), ("a", 3)]
