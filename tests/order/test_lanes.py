"""Workers share the lanes of a stream: evenly, each lane with one owner, and none is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from random import Random
from uuid import uuid4

import pytest
from sqlalchemy import Connection, Update, delete, event, select, update

from tests.application import living, publish
from tests.order.hands import Hand, hands, lane_owners, seconds_pass, shares, walker_in
from tests.order.walks import STREAM, Journal, listen, states, steps
from todoke import Todoke, crash
from todoke.testing import Clock
from todoke.work.lanes import fair_share
from todoke.work.strand import LANES


def test_a_worker_alone_has_all_lanes(app: Todoke, journal: Journal, clock: Clock) -> None:
    """OB-9"""
    listen(app, journal)
    with hands(app, 1) as alone:
        seconds_pass(clock, alone, 1)
        assert shares(app, STREAM, alone) == [LANES]


def test_two_workers_share_evenly_and_a_third_gets_its_share(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9"""
    listen(app, journal)
    with hands(app, 2) as two:
        seconds_pass(clock, two, 3)
        assert shares(app, STREAM, two) == [32, 32]
        with hands(app, 1) as (third,):
            three = [*two, third]
            seconds_pass(clock, three, 3)
            assert sorted(shares(app, STREAM, three)) == [21, 21, 22]


@pytest.mark.parametrize("count", [1, 3, 33, 63, 64, 100])
def test_shares_add_up_and_nobody_is_left_out_while_there_are_lanes(count: int) -> None:
    """OB-9"""
    workers = [uuid4() for _ in range(count)]
    fair = [fair_share(one, workers) for one in workers]
    assert sum(fair) == LANES
    assert max(fair) - min(fair) <= 1


def test_the_lanes_of_one_that_leaves_are_taken_over(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9"""
    listen(app, journal)
    with hands(app, 3) as three:
        seconds_pass(clock, three, 4)
        assert sum(shares(app, STREAM, three)) == LANES
        three.pop().stop()
        seconds_pass(clock, three, 3)
        assert shares(app, STREAM, three) == [32, 32]


def test_a_lane_with_rows_in_hand_is_kept_until_they_are_settled(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: a new owner never meets rows of the old one in flight"""
    listen(app, journal)
    busy = walker_in(range(60, 64), STREAM)
    publish(app, *steps(busy, 1, 2))
    (lane, _) = (row.lane for row in living(app))
    with hands(app, 1, holds_on=True) as (first,):
        first.tick(5)
        assert len(first.slots.begun) == 1
        with hands(app, 1) as (second,):
            both = [first, second]
            seconds_pass(clock, both, 5)
            assert lane_owners(app, STREAM)[lane] == first.id
            assert shares(app, STREAM, both) == [33, 31]
            publish(app, *steps(busy, 3))
            for _ in range(3):
                first.slots.perform()
                seconds_pass(clock, both, 2)
            assert lane_owners(app, STREAM)[lane] == second.id
            assert shares(app, STREAM, both) == [32, 32]
        assert (journal.of(busy), living(app)) == ([1, 2, 3], [])


def test_a_lane_that_is_wanted_back_is_given_once_it_is_settled(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: it takes in nothing more, so that the end comes"""
    listen(app, journal)
    busy = [walker_in(range(lane, lane + 1), STREAM) for lane in range(LANES)]
    publish(app, *(event for walker in busy for event in steps(walker, 1)))
    with hands(app, 1, holds_on=True) as (first,):
        first.tick(30)
        begun = {call.item.lane for call in first.slots.begun}
        with hands(app, 1) as (second,):
            both = [first, second]
            seconds_pass(clock, both, 3)
            owners = lane_owners(app, STREAM)
            assert begun <= {lane for lane, owner in owners.items() if owner == first.id}
            publish(app, *(event for walker in busy for event in steps(walker, 2)))
            for _ in range(20):
                first.slots.perform()
                seconds_pass(clock, both, 1)
            assert shares(app, STREAM, both) == [32, 32]
        assert [journal.of(walker) for walker in busy] == [[1, 2]] * LANES


def test_a_lane_is_kept_until_what_goes_back_is_written_back(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: what was taken out of hand is still ours in the database"""
    listen(app, journal)
    busy = walker_in(range(60, 64), STREAM)
    publish(app, *steps(busy, 1, 2))
    (lane, _) = (row.lane for row in living(app))
    given: list[bool] = []
    with hands(app, 1, holds_on=True) as (first,):
        first.tick(20)
        assert [row.owner for row in living(app)] == [first.id] * 2
        drop_the_first_row(app)
        first.slots.perform()
        with (
            hands(app, 1),
            at("lanes.before_give_back", lambda: given.append(is_free(first, lane))),
        ):
            clock.advance("1s")
            first.tick()
    assert given == [False]
    assert [row.owner for row in living(app)] == [None]


def drop_the_first_row(app: Todoke) -> None:
    """As if somebody else had settled it: whoever has it in hand will be too late."""
    live, first = app.outbox_table.live, living(app)[0].id
    with app.engine.begin() as connection:
        connection.execute(delete(live).where(live.c.id == first))


def is_free(worker: Hand, lane: int) -> bool:
    """As the worker's own transaction sees it."""
    lanes = worker.lane_table
    owner = select(lanes.c.owner).where(lanes.c.stream == STREAM, lanes.c.lane == lane)
    return worker.connection.execute(owner).scalar_one() is None


@contextmanager
def at(point: str, look: Callable[[], None]) -> Iterator[None]:
    """Look whenever this crash point is passed."""
    before = crash.arm(lambda name: look() if name == point else None)
    try:
        yield
    finally:
        crash.arm(before)


def test_the_rescuer_frees_lanes_of_the_dead_along_with_their_rows(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7"""
    listen(app, journal)
    publish(app, *steps("a", 1, 2))
    with hands(app, 1, holds_on=True) as (dead,), hands(app, 1) as (alive,):
        dead.tick(5)
        assert states(app) == ["ready", "ready"]
        assert [row.owner for row in living(app)] == [dead.id] * 2
        assert shares(app, STREAM, [dead])[0] >= 32
        for _ in range(2):
            clock.advance("8s")
            alive.renew()
        alive.rescue()
        assert (shares(app, STREAM, [dead]), states(app)) == ([0], ["suspect", "held"])
        seconds_pass(clock, [alive], 5)
        assert (shares(app, STREAM, [alive]), journal.of("a")) == ([LANES], [1, 2])


def test_whoever_has_a_row_in_hand_has_its_lane(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: through many comings and goings, no lane has two owners"""
    chance, published = Random(7), {f"walker {number}": 0 for number in range(40)}
    listen(app, journal)
    with hands(app, 4, holds_on=True) as workers:
        gone: list[Hand] = []
        for _ in range(60):
            clock.advance("500ms")
            for walker in chance.sample(sorted(published), 5):
                publish(app, *steps(walker, published[walker]))
                published[walker] += 1
            for one in workers:
                one.renew()
            busy = chance.choice(workers)
            busy.tick()
            rows_are_of_leased_lanes(app)
            if chance.random() < 0.7:
                busy.slots.perform()
            if chance.random() < 0.05 and len(workers) > 2:
                gone.append(workers.pop(workers.index(busy)))
                busy.stop()
        for _ in range(40):
            seconds_pass(clock, workers, 1)
            for one in workers:
                one.slots.perform()
    assert living(app) == []
    assert {walker: journal.of(walker) for walker in published} == {
        walker: [*range(count)] for walker, count in published.items()
    }


def rows_are_of_leased_lanes(app: Todoke) -> None:
    owners = lane_owners(app, STREAM)
    taken = [row for row in living(app) if row.owner is not None]
    assert [row.owner for row in taken] == [owners[row.lane] for row in taken]


def test_a_worker_under_a_new_name_takes_nothing_from_its_old_lanes(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-7: it was declared dead, and others have them by now"""
    listen(app, journal)
    with hands(app, 1, holds_on=True) as (first,):
        first.tick(2)
        clock.advance("15s")
        with hands(app, 1, holds_on=True) as (second,):
            clock.advance("500ms")
            second.rescue()
            second.tick(2)
            assert shares(app, STREAM, [second]) == [LANES]
            publish(app, *steps("a", 1), *steps("b", 1))
            first.tick()
            first.renew()
            first.ring()
            assert (first.slots.begun, [row.owner for row in living(app)]) == ([], [None, None])


def test_a_lane_that_another_got_between_two_statements_is_not_taken(
    app: Todoke, journal: Journal
) -> None:
    """OB-9: which lanes are its own a process learns from the table, not from its wishes"""
    listen(app, journal)
    lanes = app.lane_table

    @contextmanager
    def another_takes(lane: int, rival: Hand) -> Iterator[None]:
        def before(connection: Connection, statement: object, *_: object) -> None:
            if isinstance(statement, Update) and statement.table is lanes and not done:
                done.append(lane)
                connection.execute(update(lanes).where(lanes.c.lane == lane).values(owner=rival.id))

        done: list[int] = []
        event.listen(app.engine, "before_execute", before)
        yield
        event.remove(app.engine, "before_execute", before)
        assert done

    with hands(app, 2) as (one, rival), one.connection.begin():
        app.lane_leases.prepare(one.connection, STREAM)
        with another_takes(3, rival):
            taken = app.lane_leases.take(one.connection, one.id, STREAM, 5)
    assert taken == [0, 1, 2, 4]
