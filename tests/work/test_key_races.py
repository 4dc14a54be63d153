"""Limits per key while several processes are at the same key, and lines break in between."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from tests.application import application
from tests.order.broken_lines import line_breaks
from tests.order.hands import hands, seconds_pass
from tests.waiting import until
from tests.work.claimer import Claimer
from tests.work.key_desk import Desk, keys, process
from todoke import Todoke, crash
from todoke.testing import Clock

WAITING = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity "
    "WHERE wait_event_type = 'Lock' AND datname = current_database()",
    # Its table of waiting transactions is not renewed while somebody keeps looking.
    "mariadb": "SELECT count(*) FROM information_schema.processlist WHERE db = database() "
    "AND id <> connection_id() AND command = 'Query' AND time_ms > 200",
}


@pytest.fixture(params=["postgres", "mariadb"])
def crowded(request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A job whose rows are locked one by one: SQLite lets one transaction write at a time."""
    with application(request.getfixturevalue(f"{request.param}_copy"), clock=Clock()) as app:
        yield Desk(app)


def someone_waits(app: Todoke) -> bool:
    with app.engine.connect() as connection:
        return bool(connection.execute(text(WAITING[app.database.kind])).scalar_one())


@contextmanager
def at_the_end_of_a_claim(do: Callable[[], None]) -> Iterator[None]:
    """Do this inside the next claim's transaction, just before its commit."""
    left = [do]
    before = crash.arm(
        lambda name: left.pop()() if name == "claim.before_commit" and left else None
    )
    try:
        yield
    finally:
        crash.arm(before)


def test_who_frees_a_slot_waits_for_who_holds_a_row_and_finds_it(crowded: Desk) -> None:
    """JB-9: else a row would be held that nobody readies"""
    desk = crowded
    desk.enqueue("a")
    with process(desk) as one, process(desk) as other:
        one.end(one.claim().items)
        desk.enqueue("a")
        readied: list[int] = []
        frees = threading.Thread(target=lambda: readied.append(one.free()))

        def begin_to_free() -> None:
            frees.start()
            until(lambda: someone_waits(desk.app))

        with at_the_end_of_a_claim(begin_to_free):
            assert other.claim().held == 1
        frees.join(30)
        assert (readied, desk.in_state("ready"), desk.taken()) == ([1], "a", 0)


def test_a_key_that_is_just_being_freed_does_not_count_as_full(crowded: Desk) -> None:
    """JB-9: who frees it has looked for held rows already"""
    desk = crowded
    desk.enqueue("a")
    with process(desk) as one, process(desk) as other:
        (item,) = one.claim().items
        desk.enqueue("a")
        with one.connection.begin():
            assert desk.keys.trim(one.connection, one.id, {item.strand: 0}) == []
            catch = other.claim()
            assert (keys(catch), catch.held, catch.left, catch.is_stuck) == ("", 0, 1, True)
        assert keys(other.claim()) == "a"


def test_a_row_whose_key_was_in_motion_is_not_passed_by(crowded: Desk) -> None:
    """JB-9: the next claim begins before it, and not at once where there was nothing else"""
    desk = crowded
    desk.enqueue("a")
    with process(desk) as one, process(desk) as other:
        (item,) = one.claim().items
        claimer = Claimer(desk, other)
        desk.enqueue("a")
        with one.connection.begin():
            desk.keys.trim(one.connection, one.id, {item.strand: 0})
            assert claimer.claim() == []
            assert claimer.tap.next_claim == pytest.approx(0.01)
            desk.enqueue("bcdefgh", priority=-1)
            assert claimer.claim(4) == [-1, -1, -1]
        assert claimer.claim(4) == [0, -1, -1, -1]


def test_of_two_who_take_the_last_slot_one_gets_it(crowded: Desk) -> None:
    """JB-9: each has another row of the key, and both saw that it was free"""
    desk = crowded
    desk.enqueue("aa")
    with process(desk) as one, process(desk) as other:
        caught: list[str] = []
        late = threading.Thread(target=lambda: caught.append(keys(other.claim())))

        def begin_to_claim() -> None:
            late.start()
            until(lambda: someone_waits(desk.app))

        with at_the_end_of_a_claim(begin_to_claim):
            assert keys(one.claim(1)) == "a"
        late.join(30)
        assert (caught, desk.taken(), desk.in_state("held")) == ([""], 1, "a")


def test_slots_of_a_claim_without_a_reply_come_back_with_its_rows(
    app: Todoke, clock: Clock
) -> None:
    """JB-9 OB-15: the process lives on, so nobody else would free them"""
    desk = Desk(app)
    desk.enqueue("abaab")
    with hands(app, 1) as (worker,):
        with line_breaks(worker, app, lambda: desk.taken() == 2), pytest.raises(OperationalError):
            worker.tick(5)
        assert (desk.taken(), desk.in_state("ready", owned=True)) == (2, "ab")
        seconds_pass(clock, [worker], 12)
        assert (sorted(desk.served), desk.taken()) == (["a0", "a2", "a3", "b1", "b4"], 0)


def test_slots_that_were_freed_without_a_reply_are_not_freed_twice(
    app: Todoke, clock: Clock
) -> None:
    """JB-9 OB-15: else one that still runs would lose its own"""
    desk = Desk(app, at_once=2)
    desk.enqueue("aa")
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick()
        first, still_running = worker.slots.begun
        worker.slots.begun = [first]
        worker.slots.perform()
        with line_breaks(worker, app, lambda: desk.taken() == 1), pytest.raises(OperationalError):
            worker.tick()
        desk.enqueue("aa", first=2)
        seconds_pass(clock, [worker], 3)
        assert (len(worker.slots.begun), desk.taken()) == (1, 2)
        worker.slots.begun.append(still_running)
        worker.slots.perform()
        seconds_pass(clock, [worker], 3)
        worker.slots.perform()
        seconds_pass(clock, [worker], 3)
        assert (sorted(desk.served), desk.taken()) == (["a0", "a1", "a2", "a3"], 0)


def test_what_a_dead_worker_had_of_a_key_runs_again_before_the_others(
    app: Todoke, clock: Clock
) -> None:
    """JB-9: alone, and its key's others after it"""
    desk = Desk(app)
    desk.enqueue("aba")
    with hands(app, 1, holds_on=True) as (dead,):
        dead.tick()
        assert [call.item.key for call in dead.slots.begun] == ["a", "b"]
        clock.advance("16s")
        with hands(app, 1) as (living,):
            living.rescue()
            assert (desk.taken(), desk.in_state("suspect"), desk.in_state("held")) == (0, "ab", "a")
            seconds_pass(clock, [living], 8)
    # After a suspect come others: it must not starve them.
    assert (desk.served, desk.taken()) == (["a0", "a2", "b1"], 0)


def test_a_worker_that_stops_gives_its_slots_back(app: Todoke) -> None:
    """JB-9: what it had not begun is free for others"""
    desk = Desk(app)
    desk.enqueue("aab")
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick()
        assert desk.taken() == 2
        worker.stop()
    assert desk.taken() == 0
    desk.app.drain()
    assert sorted(desk.served) == ["a0", "a1", "b2"]


def test_a_failure_and_a_wait_free_the_slot(app: Todoke, clock: Clock) -> None:
    """JB-9: while one waits for its next attempt, another of its key runs"""
    desk = Desk(app, fails=["a0"])
    desk.enqueue("aa")
    desk.app.drain()
    assert (desk.served, desk.in_state("later"), desk.taken()) == (["a0", "a1"], "a", 0)
    clock.advance("1d")
    desk.app.drain()
    assert (desk.served, desk.taken()) == (["a0", "a1", "a0"], 0)
