"""Limits of a whole queue of jobs: over all processes, around the limits of each job."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.exc import OperationalError

from tests.application import Noted, application, publish
from tests.order.broken_lines import line_breaks
from tests.order.hands import Hand, hands, seconds_pass
from tests.work.test_destinations import BREAKER, World
from todoke import Limit, Rate, Todoke
from todoke.testing import Clock
from todoke.work.destination import Room, Within, within

NONE = Room(0)


@pytest.fixture
def world(migrated_url: str, clock: Clock) -> Iterator[World]:
    world = World(migrated_url, clock)
    yield world
    world.engine.dispose()


class Both:
    """A process that asks two destinations for room in one transaction."""

    def __init__(self, world: World, own: Limit | None, queue: Limit, **own_bounds: object) -> None:
        self._world = world
        self.process = world.process("own", limit=own, **own_bounds)
        self.around = world.process("queue:files", limit=queue).seen
        self.both = Within(self.process.seen, self.around)

    def room(self, wanted: int) -> Room:
        with self._world.engine.begin() as connection:
            return self.both.room(connection, self.process.id, wanted)

    def return_unused(self, room: Room, used: int) -> None:
        with self._world.engine.begin() as connection:
            self.both.return_unused(connection, self.process.id, room, used)

    def held(self) -> dict[str, int]:
        with self._world.engine.begin() as connection:
            return {one.name: one.slots_held for one in self.process.all.status(connection)}


def test_there_is_room_where_both_have_some(world: World) -> None:
    """JB-9: what one has beyond the other is given back at once"""
    both = Both(world, own=Limit(5), queue=Limit(3))
    assert (both.room(10), both.held()) == (Room(3), {"own": 3, "queue:files": 3})
    assert (both.room(10), both.held()) == (NONE, {"own": 3, "queue:files": 3})
    assert both.both.next_look() == 1


def test_what_the_job_has_no_room_for_takes_none_of_the_queue(world: World) -> None:
    """JB-9"""
    both = Both(world, own=Limit(2), queue=Limit(3))
    assert (both.room(10), both.held()) == (Room(2), {"own": 2, "queue:files": 2})
    assert (both.room(10), both.held()) == (NONE, {"own": 2, "queue:files": 2})


def test_what_was_too_much_is_given_back_to_both(world: World) -> None:
    """JB-9: the claim found less than there was room for"""
    both = Both(world, own=Limit(5), queue=Limit(5), rate=Rate(5, "1h"))
    room = both.room(4)
    both.return_unused(room, 1)
    assert both.held() == {"own": 1, "queue:files": 1}
    assert both.room(10) == Room(4), "tokens came back, too"


def test_a_call_that_tries_a_resting_destination_needs_room_in_its_queue(
    world: World, clock: Clock
) -> None:
    """JB-9 ID-6: without it another may try"""
    both = Both(world, own=None, queue=Limit(1), breaker=BREAKER)
    other = Both(world, own=None, queue=Limit(1))
    assert other.room(1) == both.process.room() == Room(1)
    both.process.open()
    clock.advance("30s")
    assert both.room(1) == NONE
    other.return_unused(Room(1), 0)
    clock.advance("1s")
    assert both.room(1) == Room(1, probe=True)


def test_one_that_is_bound_alone_is_asked_alone(world: World) -> None:
    """JB-9"""
    one = world.process("own", limit=Limit(1)).seen
    assert within(one, None) is one
    assert within(None, one) is one
    assert within(None, None) is None


@pytest.fixture
def app(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    settings: dict[str, object] = {"queues.default.limit": 2, "worker.queues.default": 10}
    with application(migrated_url, clock=clock, settings=settings) as app:
        yield app


@pytest.fixture
def served(app: Todoke) -> list[str]:
    """Two jobs of one queue, one of them with a limit of its own."""
    served: list[str] = []

    @app.job(limit=Limit(5))
    def bound(number: int) -> None:
        served.append(f"bound {number}")

    @app.job()
    def free(number: int) -> None:
        served.append(f"free {number}")

    with app.session() as session:
        bound.enqueue_all(session, range(4))
        free.enqueue_all(session, range(4))
    return served


def slots_held(app: Todoke) -> int:
    with app.engine.begin() as connection:
        return sum(one.slots_held for one in app.destinations.status(connection))


def begun(workers: list[Hand]) -> int:
    return sum(len(worker.slots.begun) for worker in workers)


def test_a_queue_is_bound_over_all_its_jobs_and_processes(
    app: Todoke, served: list[str], clock: Clock
) -> None:
    """JB-9: and everybody gets through"""
    with hands(app, 2, holds_on=True) as workers:
        for _ in range(20):
            seconds_pass(clock, workers, 1)
            assert begun(workers) <= 2
            for worker in workers:
                worker.slots.perform()
        assert len(served) == 8
        assert slots_held(app) == 0
    assert sorted(served)[0::4] == ["bound 0", "free 0"]


def test_no_job_of_a_bound_queue_keeps_the_others_out(app: Todoke, clock: Clock) -> None:
    """JB-9: whoever is done makes room for all that wait, not for its own kind only"""
    served: list[str] = []

    @app.job(limit=Limit(5))
    def many(number: int) -> None:
        served.append("many")

    @app.job(limit=Limit(5))
    def few(number: int) -> None:
        served.append("few")

    with app.session() as session:
        many.enqueue_all(session, range(30))
        few.enqueue_all(session, range(3))
    with hands(app, 1, holds_on=True) as (worker,):
        for _ in range(60):
            worker.go_on()
            worker.go_on()  # finds no room, and rests until it is told
            worker.slots.perform()
    assert served.count("few") == 3
    assert served.index("few") < 10


def test_events_are_not_bound_by_a_queue_of_jobs(app: Todoke, served: list[str]) -> None:
    """JB-9"""
    seen: list[int] = []

    @app.on(Noted)
    def note(event: Noted) -> None:
        seen.append(event.order_id)

    publish(app, *(Noted(order_id=number) for number in range(5)))
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick()
        keys = [call.handler.name for call in worker.slots.begun]
    assert (keys.count("note"), len(keys)) == (5, 7)


def test_room_in_a_queue_that_was_granted_without_a_reply_comes_back(
    app: Todoke, served: list[str], clock: Clock
) -> None:
    """JB-9 OB-15"""
    with hands(app, 1) as (worker,):
        with line_breaks(worker, app, lambda: slots_held(app) > 0), pytest.raises(OperationalError):
            worker.tick(5)
        seconds_pass(clock, [worker], 12)
        assert (len(served), slots_held(app)) == (8, 0)
