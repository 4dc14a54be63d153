"""A worker that dies with a run of one key in hand: order is kept by whoever takes over."""

from __future__ import annotations

import pytest

from tests.application import deliveries, letters, living, publish, register
from tests.dying import death_at
from tests.order.hands import hands
from tests.order.walks import (
    STREAM,
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
from todoke import Limit, PermanentError, Todoke, TransientError
from todoke.testing import Clock
from todoke.work.item import Item


def die_with(app: Todoke, clock: Clock, limit: int = 100, *, alone: bool = False) -> list[Item]:
    """A process claims, and dies: its lease runs out and it is rescued from."""
    items = claim(app, limit, alone=alone)
    clock.advance("16s")
    with hands(app, 1) as (rescuer,):
        rescuer.rescue()
        rescuer.stop()
    return items


def claim(app: Todoke, limit: int = 100, *, alone: bool = False) -> list[Item]:
    worker, claims = register(app), app.claims[0]
    with app.engine.connect() as connection:
        if alone:
            return claims.take_suspect(connection, worker, STREAM)
        return claims.take_ordered(connection, worker, STREAM, range(64), limit, limit)


@pytest.mark.parametrize("way", WAYS)
def test_order_is_kept_when_a_worker_dies_with_a_run_in_hand(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9 OB-7"""
    listen(app, journal, way)
    publish(app, *steps("a", 1, 2, 3, 4, 5))
    die_with(app, clock, limit=3)
    assert states(app) == ["suspect", "held", "held", "ready", "ready"]
    publish(app, *steps("a", 6))
    app.drain()
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3, 4, 5, 6], [], [])


def test_only_the_first_of_each_key_is_a_suspect(app: Todoke, clock: Clock) -> None:
    """OB-9 OB-7: what waited in hand behind it cannot be the cause"""
    publish(app, *steps("a", 1, 2), *steps("b", 1, 2))
    die_with(app, clock)
    assert states(app) == ["suspect", "held", "suspect", "held"]
    assert [row.attempt - row.spared for row in living(app)] == [0] * 4


def test_a_suspect_that_fails_holds_its_followers(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    die_with(app, clock)
    app.drain()
    assert (journal.seen, states(app)) == ([], ["later", "held"])
    later(app, clock)
    assert (journal.of("a"), barriers(app)) == ([1, 2], [])


def test_a_second_crash_keeps_the_order_as_well(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7"""
    listen(app, journal)
    publish(app, *steps("a", 1, 2, 3))
    die_with(app, clock)
    die_with(app, clock, alone=True)
    assert states(app) == ["suspect", "held", "held"]
    app.drain()
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])


def crash_thrice(app: Todoke, clock: Clock) -> None:
    die_with(app, clock)
    for _ in range(3):
        die_with(app, clock, alone=True)


def test_a_head_that_kills_its_workers_parks_its_followers(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7 ER-3"""
    listen(app, journal)
    publish(app, *steps("a", 1, 2, 3))
    crash_thrice(app, clock)
    app.drain()
    assert ([one.code for one in letters(app)], states(app)) == (["CRASHED"], ["held", "held"])
    redrive(app)
    app.drain()
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])


def test_where_followers_skip_they_go_on_without_a_head_that_kills(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7"""
    listen(app, journal, kind=Strolled)
    publish(app, *steps("a", 1, 2, 3, kind=Strolled))
    crash_thrice(app, clock)
    app.drain()
    assert (journal.of("a"), len(letters(app)), barriers(app)) == ([2, 3], 1, [])


def test_a_crash_in_the_middle_of_a_long_replay_keeps_the_order(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: some are readied, some in the dead hands, some still held"""
    listen(app, journal)
    journal.answer("a", 0, PermanentError("no"))
    publish(app, *steps("a", *range(251)))
    app.drain()
    redrive(app)
    with hands(app, 1, holds_on=True) as (dying,):
        dying.tick(20)
        dying.slots.perform()
        dying.tick(20)
        assert (journal.of("a"), len(dying.slots.begun)) == ([0], 1)
        clock.advance("16s")
    publish(app, *steps("a", 251))
    with hands(app, 1) as (rescuer,):
        rescuer.rescue()
        rescuer.stop()
    app.drain()
    assert journal.of("a") == [*range(252)]
    assert (living(app), barriers(app)) == ([], [])


@pytest.mark.parametrize("way", WAYS)
def test_a_suspect_is_run_by_another_than_its_lanes_owner_and_order_is_kept(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9 OB-7"""
    listen(app, journal, way)
    publish(app, *steps("a", 1, 2, 3))
    claim(app)
    publish(app, *steps("b", 1))
    with hands(app, 1, holds_on=True) as (owner,):
        owner.tick(5)
        assert [call.item.key for call in owner.slots.begun] == ["b"]
        for _ in range(2):
            clock.advance("8s")
            owner.renew()
        owner.rescue()
        owner.tick(2)
        assert states(app) == ["suspect", "held", "held", "ready"]
        runs_the_suspect(app, journal)
        for _ in range(8):
            owner.slots.perform()
            owner.tick(2)
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3], [], [])


def runs_the_suspect(app: Todoke, journal: Journal) -> None:
    with hands(app, 1) as (other,):
        other.tick(5)
        assert journal.seen == [("a", 1)]
        other.stop()


def test_a_worker_that_died_before_it_let_its_key_go_on_is_made_up_for(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: the handler's own transaction had settled the head"""
    listen(app, journal, "session")
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    app.drain()
    clock.advance("10s")
    with hands(app, 1, holds_on=True) as (dying,):
        dying.stage()
        dying.tick(5)
        dying.slots.perform()  # and never learns of it
        assert (journal.of("a"), states(app), len(barriers(app))) == ([1], ["held"], 1)
        clock.advance("16s")
    with hands(app, 1) as (rescuer,):
        rescuer.rescue()
        rescuer.stop()
    app.drain()
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2], [], [])


def test_a_late_finisher_runs_none_of_its_followers(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: they belong to others by now"""
    listen(app, journal)
    publish(app, *(Walked(walker="a", step=step) for step in (1, 2, 3)))
    with hands(app, 1, holds_on=True) as (slow,):
        slow.tick(5)
        slow.slots.perform()
        declared_dead(app, clock)
        app.drain()
        slow.tick(3)
        assert slow.slots.begun == []
    assert journal.of("a") == [1, 1, 2, 3]
    assert (living(app), barriers(app)) == ([], [])


def test_a_process_that_stood_still_beyond_its_lease_begins_nothing(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: not even one that has never renewed it yet"""
    listen(app, journal)
    publish(app, *steps("a", 1, 2))
    with hands(app, 1, holds_on=True) as (still,):
        still.tick(5)
        declared_dead(app, clock)
        still.slots.perform()
        assert journal.of("a") == []
        app.drain()
        still.tick(3)
    assert (journal.of("a"), living(app)) == ([1, 2], [])


def declared_dead(app: Todoke, clock: Clock) -> None:
    """Whoever does not renew for so long."""
    clock.advance("16s")
    with hands(app, 1) as (rescuer,):
        rescuer.rescue()
        rescuer.stop()


def test_a_key_of_a_destination_waits_for_the_person_who_is_asked(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7 OB-15: died in the middle of a call that must not be repeated unasked"""
    listen(app, journal, on_crash="ask", limit=Limit(1))
    publish(app, *steps("a", 1, 2, 3))
    with hands(app, 1, holds_on=True) as (dying,):
        dying.tick(20)
        with death_at("handler.after_started_mark"):
            dying.slots.perform()
    declared_dead(app, clock)
    app.drain()
    assert ([letter.code for letter in letters(app)], journal.seen) == (["OUTCOME_UNKNOWN"], [])
    assert [row.state for row in deliveries(app)] == ["held", "held"]
    resolve(app)
    app.drain()
    assert (journal.of("a"), deliveries(app), barriers(app)) == ([2, 3], [], [])


def test_a_follower_that_was_only_claimed_does_not_overtake_as_a_suspect(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: claimed behind a barrier, not held back yet; then the barrier is lifted"""
    listen(app, journal)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    publish(app, *steps("a", 4))
    assert [item.id for item in claim(app)] == [living(app)[-1].id]
    clock.advance("10s")
    with hands(app, 1, holds_on=True) as (other,):
        other.stage()
        other.tick(20)
        other.slots.perform()
        other.tick()
        other.stop()
    assert (journal.of("a"), states(app), barriers(app)) == ([1], ["ready"] * 3, [])
    declared_dead(app, clock)
    assert states(app) == ["ready"] * 3
    app.drain()
    assert (journal.of("a"), living(app)) == ([1, 2, 3, 4], [])
