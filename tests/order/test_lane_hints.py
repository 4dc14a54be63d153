"""A hint names the lane of what is new: its owner looks there, and nobody looks elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, update

from tests.application import letters, publish
from tests.order.hands import Hand, hands, lane_owners, seconds_pass, walker_in
from tests.order.walks import STREAM, Journal, Walked, listen, states, steps
from todoke import Todoke
from todoke.bell import SOMEBODY
from todoke.hint import hint_of
from todoke.testing import Clock
from todoke.work.claim import Claims
from todoke.work.strand import LANES


class WalkedElsewhere(Walked, context="elsewhere"):
    """Of a context that no worker has heard of."""


def test_only_the_owner_of_the_lane_looks_and_only_there(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-9 design 12"""
    listen(app, journal)
    with hands(app, 2) as two:
        _rest(clock, two)
        owner, other = _owner_first(app, two, lane=5)
        publish(app, *steps(walker_in(range(5, 6), STREAM), 1))
        with _looks(monkeypatch) as looks, _calls(monkeypatch, "stream_after") as before:
            other.ring(hint_of("event", STREAM, 5))
            assert looks == []
            owner.ring(hint_of("event", STREAM, 5))
            assert looks == [[5]]
            assert before == [], "what was rung for is claimed at once"
        owner.ring()
        assert states(app) == []


@pytest.mark.parametrize("place", ["ordered", "free"])
def test_without_a_lane_all_lanes_are_looked_into(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """OB-9 design 12: where there were too many to name"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps(walker_in(range(5, 6), STREAM), 1))
        with _looks(monkeypatch) as looks:
            alone.ring(f"event:{place}:{STREAM}")
        seen = {lane for lanes in looks for lane in lanes}
        assert len(seen) == (0 if place == "free" else app.database.lanes_at_once)


def test_a_full_batch_from_one_lane_is_followed_by_a_look_at_all(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-9: nothing rings for what was left"""
    listen(app, journal)
    with hands(app, 1, holds_on=True) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps(walker_in(range(5, 6), STREAM), *range(1, 121)))
        with _looks(monkeypatch) as looks:
            alone.ring(hint_of("event", STREAM, 5))
            alone.slots.perform()
            alone.go_on()
            assert looks[0] == [5]
            assert len(looks[1]) > 1


def test_what_was_not_rung_for_is_found_by_polling(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 design 12: a hint that is lost costs time, never an event"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps(walker_in(range(5, 6), STREAM), 1))
        publish(app, *steps(walker_in(range(6, 7), STREAM), 1))
        alone.ring(hint_of("event", STREAM, 5))
        alone.go_on()
        assert states(app) == ["ready"]
        clock.advance("1s")
        for _ in range(LANES):
            alone.go_on()
        assert states(app) == []


def test_a_stream_that_was_rung_for_and_has_nothing_is_not_taken_up(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """design 12: whoever may use the channel could fill the tables with lanes of no stream"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        alone.ring(hint_of("event", "nowhere/default", 5))
        seconds_pass(clock, [alone], 3)
        assert lane_owners(app, "nowhere/default") == {}


def test_a_stream_nobody_knew_of_is_looked_for_when_it_is_rung_for(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 design 12: also its lanes are taken at once"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps("a", 1, kind=WalkedElsewhere))
        alone.ring(hint_of("event", "elsewhere/default", 5))
        _look_everywhere(alone)
        assert set(lane_owners(app, "elsewhere/default").values()) == {alone.id}
        assert [letter.code for letter in letters(app)] == ["NO_HANDLER"]


def test_a_worker_is_not_woken_by_its_own_commits(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12 design 12: SQLite's ear hears commits, and a busy worker commits all the time"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps("a", 1))
        alone.ring(*SOMEBODY)
        _look_everywhere(alone)
        assert journal.of("a") == [1]
        assert states(app) == []
        with _calls(monkeypatch, "streams") as looks:
            alone.ring(*SOMEBODY)
            assert bool(looks) == (app.database.kind != "sqlite")
        _look_everywhere(alone)
        publish(app, *steps("a", 2))
        alone.ring(*SOMEBODY)
        _look_everywhere(alone)
        assert journal.of("a") == [1, 2]


def test_where_nothing_waits_nothing_is_claimed(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-9: one look at each table tells, however many streams and lanes there are"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        with _looks(monkeypatch) as claims, _calls(monkeypatch, "streams") as looks:
            alone.ring()
            assert (claims, len(looks)) == ([], 3)
            publish(app, *steps("a", 1))
            alone.ring()
            assert len(claims) == 1
        _look_everywhere(alone)
        assert journal.of("a") == [1]


def test_streams_of_others_are_not_all_looked_at(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-9: however many there are that no worker of these queues serves"""
    listen(app, journal)
    with hands(app, 1) as (alone,):
        _rest(clock, [alone])
        publish(app, *steps("a", *range(1, 31)))
        _move_to_queues_of_others(app)
        publish(app, *steps("b", 1))
        with _calls(monkeypatch, "stream_after") as seen:
            alone.ring()
        assert 0 < len(seen) <= 6
        _look_everywhere(alone)
        assert (journal.of("a"), journal.of("b")) == ([], [1])


def _move_to_queues_of_others(app: Todoke) -> None:
    live = app.outbox_table.live
    with app.engine.begin() as connection:
        for id in connection.scalars(select(live.c.id)).all():
            moved = update(live).where(live.c.id == id).values(stream=f"a-walk/others-{id}")
            connection.execute(moved)


def _rest(clock: Clock, workers: list[Hand]) -> None:
    """Until they share the lanes, and have looked into all of them and found nothing."""
    seconds_pass(clock, workers, 3)
    for one in workers:
        _look_everywhere(one)


def _look_everywhere(worker: Hand) -> None:
    """It looks on for as long as it has not seen all its lanes."""
    for _ in range(LANES):
        worker.go_on()


def _owner_first(app: Todoke, two: list[Hand], lane: int) -> tuple[Hand, Hand]:
    owner = lane_owners(app, STREAM)[lane]
    one, other = two
    return (one, other) if one.id == owner else (other, one)


@contextmanager
def _looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[int]]]:
    """The lanes of each claim that is made meanwhile."""
    looks: list[list[int]] = []
    take = Claims.take_ordered

    def seen(self: Claims, connection: Any, owner: Any, stream: str, lanes: Any, *rest: int) -> Any:
        looks.append(list(lanes))
        return take(self, connection, owner, stream, lanes, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Claims, "take_ordered", seen)
        yield looks
    assert all(set(lanes) <= set(range(LANES)) for lanes in looks)


@contextmanager
def _calls(monkeypatch: pytest.MonkeyPatch, method: str) -> Iterator[list[Claims]]:
    """Where this was asked meanwhile."""
    calls: list[Claims] = []
    called = getattr(Claims, method)

    def seen(self: Claims, *rest: Any, **options: Any) -> Any:
        calls.append(self)
        return called(self, *rest, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Claims, method, seen)
        yield calls
