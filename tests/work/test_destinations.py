"""Destinations: so many at once, so many per time, a rest after failures; over all processes."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from fractions import Fraction
from functools import partial
from math import floor
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, MetaData, insert, make_url, select

from tests.waiting import until
from todoke.clock import SystemClock
from todoke.databases import open_database
from todoke.limits import Bounds, Breaker, Limit, Rate
from todoke.testing import Clock
from todoke.work.destination import Destinations, Room
from todoke.work.destination_table import destination_tables
from todoke.work.table import worker_table

BREAKER = Breaker("psp", failures=3, rest="30s")
PROBE, NONE = Room(1, probe=True), Room(0)


class World:
    """One database with the tables of destinations."""

    def __init__(self, url: str, clock: Clock | SystemClock) -> None:
        self.database = open_database(make_url(url), clock, schema="", prefix="todoke_")
        self.engine = self.database.engine(make_url(url), 10)
        metadata = MetaData()
        self.tables = destination_tables(metadata, self.database)
        self.workers = worker_table(metadata, self.database)
        metadata.create_all(self.engine)

    def process(self, name: str = "psp", **bounds: Any) -> Process:
        return Process(self, Bounds(name, **bounds))

    def broken(self) -> Process:
        """A process whose destination has just failed often enough."""
        process = self.process(breaker=BREAKER)
        process.room()
        assert [process.seen.failed("transient") for _ in range(3)] == [False, False, True]
        process.open()
        return process

    def held(self) -> list[int]:
        slots = self.tables.slots.c
        taken = select(slots.number).where(slots.owner.is_not(None)).order_by(slots.number)
        with self.engine.begin() as connection:
            return list(connection.execute(taken).scalars())


class Process:
    """A registered worker process, and a destination as it sees it."""

    def __init__(self, world: World, bounds: Bounds) -> None:
        self.engine, self.id, now = world.engine, uuid4(), world.database.now
        self.all = Destinations(world.tables, world.workers, world.database)
        self.seen = self.all.destination(bounds)
        row = {"id": self.id, "name": "elsewhere:1", "queues": "{}", "registers": "{}"}
        moments = {"started_at": now, "renewed_at": now, "lease_until": now}
        with self.engine.begin() as connection:
            connection.execute(insert(world.workers).values(**row, **moments))

    def room(self, wanted: int = 1) -> Room:
        with self.engine.begin() as connection:
            return self.seen.room(connection, self.id, wanted)

    def give_back(self, slots: int) -> None:
        self._write(partial(self.seen.give_back, owner=self.id, slots=slots))

    def return_tokens(self, tokens: int) -> None:
        self._write(partial(self.seen.return_tokens, tokens=tokens))

    def return_unused(self, room: Room, used: int) -> None:
        self._write(partial(self.seen.return_unused, owner=self.id, room=room, used=used))

    def open(self) -> None:
        self._write(self.seen.open)

    def close(self) -> None:
        self._write(self.seen.close)

    def free(self) -> None:
        self._write(partial(self.all.free, owner=self.id))

    def _write(self, change: Callable[[Connection], object]) -> None:
        with self.engine.begin() as connection:
            change(connection)


@pytest.fixture
def world(migrated_url: str, clock: Clock) -> Iterator[World]:
    world = World(migrated_url, clock)
    yield world
    world.engine.dispose()


def together(works: list[Callable[[], None]]) -> None:
    """Each in a thread of its own, begun at the same moment."""
    start, finished = threading.Barrier(len(works)), list[None]()

    def run(work: Callable[[], None]) -> None:
        start.wait()
        finished.append(work())  # type: ignore[func-returns-value]

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(finished) == len(works)


def test_no_more_run_at_once_than_the_limit_allows(world: World) -> None:
    """ID-6"""
    psp = world.process(limit=Limit(4))
    assert [psp.room(3), psp.room(3), psp.room(3)] == [Room(3), Room(1), NONE]
    assert psp.seen.next_look() == 1, "another process may give one back"
    psp.give_back(2)
    assert psp.seen.next_look() == 0
    assert psp.room(3) == Room(2)


def test_a_limit_holds_exactly_over_many_processes(world: World) -> None:
    """ID-6"""
    counting, running, most = threading.Lock(), 0, 0

    def work(process: Process) -> None:
        nonlocal running, most
        held = 0
        for take in range(200):
            granted = process.room(2).granted
            with counting:
                running, held = running + granted, held + granted
                most = max(most, running)
            if take % 2:  # held while the next is asked for
                with counting:
                    running -= held
                process.give_back(held)
                held = 0

    processes = [world.process(limit=Limit(3)) for _ in range(8)]
    together([partial(work, one) for one in processes])
    assert 0 < most <= 3
    assert world.held() == []


def test_slots_of_a_dead_process_are_freed_and_it_takes_no_others(world: World) -> None:
    """ID-6"""
    dead, living = (world.process(limit=Limit(2)) for _ in range(2))
    assert [dead.room(2), living.room(2)] == [Room(2), NONE]
    dead.free()
    assert living.room(2) == Room(2)
    dead.give_back(2)
    assert world.held() == [0, 1], "nobody frees the slots of another"
    living.give_back(2)
    with world.engine.begin() as connection:
        connection.execute(world.workers.delete().where(world.workers.c.id == dead.id))
    assert dead.room(2) == NONE


def test_a_lowered_limit_holds_once_the_old_calls_end_and_a_raised_one_at_once(
    world: World,
) -> None:
    """ID-6"""
    old, new = world.process(limit=Limit(8)), world.process(limit=Limit(4))
    assert [old.room(8), new.room(8)] == [Room(8), NONE]
    old.give_back(4)
    assert [world.held(), new.room(8)] == [[0, 1, 2, 3], NONE]
    old.give_back(4)
    assert [new.room(8), old.room(8)] == [Room(4), Room(4)]


def test_asking_for_room_waits_for_nobody(postgres_database: str) -> None:
    """ID-6: FOR UPDATE SKIP LOCKED"""
    world = World(postgres_database, Clock())
    one, other = (world.process(limit=Limit(2), rate=Rate(5, "1m")) for _ in range(2))
    assert one.room() == Room(1)
    with world.engine.begin() as connection:
        assert one.seen.room(connection, one.id, 1) == Room(1)
        assert other.room() == NONE
        assert other.seen.next_look() < 0.1
    world.engine.dispose()


def test_a_rate_lets_all_go_at_once_and_then_one_by_one(world: World, clock: Clock) -> None:
    """ID-6"""
    psp = world.process(rate=Rate(6, "1m"))
    assert [psp.room(10), psp.seen.next_look()] == [Room(6), 10]
    clock.advance("9999ms")
    assert [psp.room(10), psp.seen.next_look()] == [NONE, pytest.approx(0.001)]
    clock.advance("1ms")
    assert psp.room(10) == Room(1)
    clock.advance("1h")
    assert [psp.room(), world.process(rate=Rate(3, "1m")).room(10)] == [Room(1), Room(3)]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    count=st.integers(1, 50),
    within=st.integers(1, 600),
    steps=st.lists(
        st.tuples(st.integers(0, 20_000), st.integers(1, 60), st.integers(0, 5)), max_size=25
    ),
)
def test_a_rate_grants_what_a_bucket_of_tokens_holds(
    world: World, clock: Clock, count: int, within: int, steps: list[tuple[int, int, int]]
) -> None:
    """ID-6"""
    psp = world.process(uuid4().hex, rate=Rate(count, f"{within}s"))
    bucket, hair = Fraction(count), Fraction(1, 10**6)
    for milliseconds, wanted, unused in steps:
        clock.advance(timedelta(milliseconds=milliseconds))
        bucket = min(Fraction(count), bucket + Fraction(milliseconds * count, 1000 * within))
        granted = psp.room(wanted).granted
        assert min(wanted, floor(bucket - hair)) <= granted <= min(wanted, floor(bucket + hair))
        returned = min(unused, granted)
        psp.return_tokens(returned)
        bucket = min(Fraction(count), bucket - granted + returned)


def test_a_rate_holds_over_many_processes(world: World, clock: Clock) -> None:
    """ID-6"""
    processes = [world.process(rate=Rate(50, "1m")) for _ in range(8)]
    granted: list[int] = []

    def work(process: Process) -> None:
        granted.extend(process.room(2).granted for _ in range(20))

    for expected in (50, 75):
        together([partial(work, one) for one in processes])
        granted.append(processes[0].room(100).granted)
        assert sum(granted) == expected
        clock.advance("30s")


def test_the_smaller_of_limit_and_rate_decides_and_nothing_is_lost(world: World) -> None:
    """ID-6"""
    few_tokens = world.process("a", limit=Limit(9), rate=Rate(3, "1h"))
    assert [few_tokens.room(10), world.held()] == [Room(3), [0, 1, 2]]
    few_slots = world.process("b", limit=Limit(2), rate=Rate(5, "1h"))
    for expected in (2, 2, 1):
        assert few_slots.room(10) == Room(expected)
        few_slots.give_back(expected)
    few_tokens.return_unused(Room(3), used=1)
    assert [world.held(), few_tokens.room(10)] == [[0], Room(2)], "what a claim did not find"


@pytest.mark.parametrize("ahead", ["30s", "1d"])
def test_a_clock_that_was_set_back_does_not_stop_a_rate_for_long(
    world: World, clock: Clock, ahead: str
) -> None:
    """ID-6"""
    psp, right = world.process(rate=Rate(1, "1m")), clock.now()
    clock.advance(ahead)
    assert psp.room() == Room(1)
    clock.set(right)
    psp.return_tokens(psp.room().granted)
    clock.advance("2m")
    assert psp.room() == Room(1)


def test_a_breaker_opens_after_failures_in_a_row(world: World, clock: Clock) -> None:
    """ID-6"""
    psp = world.broken()
    clock.advance("29s")
    assert [psp.seen.is_open, psp.room(5)] == [True, NONE]
    assert 0 < psp.seen.next_look() <= 1
    assert not psp.seen.failed("timeout"), "a late failure does not prolong the rest"
    clock.advance("1s")
    assert psp.room(5) == PROBE


def test_only_failures_of_the_destination_count_and_a_success_begins_anew(world: World) -> None:
    """ID-6"""
    seen = world.process(breaker=BREAKER).seen
    assert not any(seen.failed(kind) for kind in ("permanent", "business") for _ in range(9))
    assert [seen.failed("timeout"), seen.failed("transient"), seen.succeeded()] == [False] * 3
    assert [seen.failed("timeout") for _ in range(3)] == [False, False, True]


def test_other_processes_see_an_open_breaker_when_they_ask(world: World) -> None:
    """ID-6"""
    other, without, first = world.process(breaker=BREAKER), world.process(), world.broken()
    assert [other.room(), other.seen.is_open] == [NONE, True]
    assert [without.room(), without.seen.failed("timeout")] == [Room(1), False]
    first.close()
    assert [other.room(), other.seen.is_open] == [Room(1), False]


def test_after_the_rest_exactly_one_of_many_may_try(world: World, clock: Clock) -> None:
    """ID-6"""
    world.broken()
    clock.advance("30s")
    processes = [world.process(breaker=BREAKER) for _ in range(8)]
    rooms: list[Room] = []

    def ask(process: Process) -> None:
        rooms.extend(process.room(5) for _ in range(3))

    together([partial(ask, one) for one in processes])
    assert [room for room in rooms if room.granted] == [PROBE]


def test_a_good_probe_closes_the_breaker(world: World, clock: Clock) -> None:
    """ID-6"""
    psp = world.broken()
    clock.advance("30s")
    assert [psp.room(5), psp.room(5)] == [PROBE, NONE]
    assert not psp.seen.is_open, "the probe itself must not be handed back"
    assert psp.seen.succeeded()
    psp.close()
    assert [psp.seen.is_open, psp.seen.next_look(), psp.room(5)] == [False, 0, Room(5)]
    assert not psp.seen.failed("transient")


def test_a_failed_probe_lets_it_rest_again(world: World, clock: Clock) -> None:
    """ID-6"""
    psp = world.broken()
    clock.advance("30s")
    assert psp.room() == PROBE
    clock.advance("20s")
    assert [psp.seen.failed("timeout"), psp.seen.is_open] == [True, True]
    psp.open()
    for step, expected in (("29s", NONE), ("1s", PROBE)):
        clock.advance(step)
        assert psp.room() == expected


def test_a_probe_that_told_nothing_is_followed_by_another(world: World, clock: Clock) -> None:
    """ID-6"""
    psp, other = world.broken(), world.process(breaker=BREAKER)
    clock.advance("30s")
    psp.return_unused(psp.room(), used=0)
    assert [psp.seen.is_open, other.room(), psp.room()] == [True, PROBE, NONE]
    clock.advance("30s")
    assert psp.room() == PROBE, "the other process died"


def test_a_probe_needs_a_slot(world: World, clock: Clock) -> None:
    """ID-6"""
    psp = world.process(limit=Limit(1), breaker=BREAKER)
    assert psp.room() == Room(1)
    psp.open()
    clock.advance("30s")
    assert psp.room() == NONE
    psp.give_back(1)
    assert psp.room() == PROBE


def test_who_opens_and_who_closes_says_so_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """ID-6"""
    caplog.set_level(logging.INFO, "todoke")
    late, psp = world.process(breaker=BREAKER), world.broken()
    for change in (late.open, psp.close, late.close):
        change()
    opened, closed = caplog.records
    assert (opened.levelname, closed.levelname) == ("WARNING", "INFO")
    assert "psp failed 3 times in a row: nothing is claimed for it for 30 s" in opened.message
    assert "psp answers again" in closed.message


def test_people_see_what_is_open_held_and_left(world: World, clock: Clock) -> None:
    """ID-6"""
    mail, _ = world.process("mail", limit=Limit(3), rate=Rate(10, "1m")), world.broken()
    mail.room(2)
    with world.engine.begin() as connection:
        first, second = mail.all.status(connection)
    assert (first.name, first.open_until, first.slots_held, first.tokens) == ("mail", None, 2, 8)
    assert (second.name, second.slots_held, second.tokens) == ("psp", 0, None)
    assert second.open_until == clock.now() + timedelta(seconds=30)


def test_all_of_it_holds_by_the_time_of_the_database(migrated_url: str) -> None:
    """ID-6"""
    world = World(migrated_url, SystemClock())
    rest = Breaker("psp", failures=1, rest="1ms")
    psp = world.process(limit=Limit(2), rate=Rate(2, "1h"), breaker=rest)
    assert [psp.room(5), psp.seen.failed("transient")] == [Room(2), True]
    psp.open()
    psp.return_unused(Room(2), used=0)
    until(lambda: psp.room() == PROBE)
    assert psp.seen.succeeded()
    psp.close()
    assert [psp.room(5), psp.room(5)] == [Room(1), NONE]
    world.engine.dispose()
