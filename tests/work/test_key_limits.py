"""Limits per key: so many at once of each, over all processes, whoever dies in between."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

import pytest
from sqlalchemy import update

from tests.application import application, leases
from tests.order.hands import hands
from tests.work.key_desk import Desk, Errand, Process, keys, process
from todoke import Todoke
from todoke.testing import Clock
from todoke.work.item import Item

T = TypeVar("T")


@pytest.fixture
def desk(app: Todoke) -> Desk:
    return Desk(app)


@pytest.fixture
def one(desk: Desk) -> Iterator[Process]:
    with process(desk) as made:
        yield made


@pytest.fixture
def other(desk: Desk) -> Iterator[Process]:
    with process(desk) as made:
        yield made


def again(app: Todoke, work: Callable[[], T]) -> T:
    """As the worker's loop does: a deadlock is nobody's fault."""
    while True:
        try:
            return work()
        except Exception as error:
            if not app.database.passes(error):
                raise


def together(works: list[Callable[[], None]]) -> None:
    """Each in a thread of its own, begun at the same moment."""
    start, failures = threading.Barrier(len(works)), list[BaseException]()

    def run(work: Callable[[], None]) -> None:
        start.wait()
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_of_each_key_no_more_are_claimed_than_the_limit_allows(
    desk: Desk, one: Process, other: Process
) -> None:
    """JB-9: what a claim meets of a full key is out of the way of the next"""
    desk.enqueue("aaabbc")
    catch = one.claim()
    assert (keys(catch), catch.held, desk.in_state("held")) == ("abc", 3, "aab")
    desk.enqueue("ad")
    assert keys(other.claim()) == "d"
    assert (desk.in_state("ready"), desk.in_state("held"), desk.taken()) == ("", "aaba", 4)


def test_a_claim_counts_the_attempt_and_names_the_owner(desk: Desk, one: Process) -> None:
    """JB-9: as any other claim"""
    desk.enqueue("a")
    (item,) = one.claim().items
    assert (item.attempt, item.key, item.alone) == (1, "a", False)
    assert item.claimed_at == desk.app.clock.now()
    assert desk.in_state("ready", owned=True) == "a"


def test_what_is_freed_lets_the_most_urgent_then_the_oldest_go_on(desk: Desk, one: Process) -> None:
    """JB-9"""
    desk.enqueue("aaa")
    desk.enqueue("a", priority=5, first=3)
    for order in ([3], [0], [1], [2]):
        catch = one.claim()
        assert [_number(item) for item in catch.items] == order
        assert desk.taken() == 1
        one.settle(catch.items)
    assert (desk.taken(), desk.in_state("held")) == (0, "")


def test_a_slot_is_freed_only_when_it_is_written_what_became_of_its_row(
    desk: Desk, one: Process, other: Process
) -> None:
    """JB-9: between the two the limit is merely too strict"""
    desk.enqueue("aa")
    one.end(one.claim().items)
    assert (keys(other.claim()), desk.taken()) == ("", 1)
    assert one.free() == 1
    assert keys(other.claim()) == "a"


def test_more_than_one_of_a_key_may_be_at_work(app: Todoke) -> None:
    """JB-9"""
    desk = Desk(app, at_once=3)
    desk.enqueue("a" * 7)
    with process(desk) as one, process(desk) as other:
        mine = one.claim(2).items
        yours = other.claim().items
        assert (keys(mine), keys(yours), desk.in_state("held")) == ("aa", "a", "aaaa")
        assert one.settle(mine) == 2
        assert keys(other.claim()) == "aa"
        assert other.settle(yours) == 1
        assert (keys(one.claim()), desk.in_state("held"), desk.taken()) == ("a", "a", 3)


def test_a_limit_holds_exactly_over_many_processes_and_nothing_is_left_behind(
    app: Todoke,
) -> None:
    """JB-9: claimed, given back and settled at once by many"""
    desk, counting = Desk(app, at_once=2), threading.Lock()
    running, most, done = Counter[str](), Counter[str](), list[int]()
    desk.enqueue([key for _ in range(25) for key in "abcd"])

    def work(process: Process, chance: random.Random) -> None:
        while len(done) < 100:
            items = again(app, lambda: process.claim(chance.randint(1, 5)).items)
            with counting:
                running.update(item.key for item in items)
                for key in running:
                    most[key] = max(most[key], running[key])
            with counting:
                running.subtract(item.key for item in items)
                done.extend(item.id for item in items)
            again(app, partial(process.end, items))
            again(app, process.free)

    with ExitStack() as stack:
        processes = [stack.enter_context(process(desk)) for _ in range(6)]
        works = [(one, random.Random(number)) for number, one in enumerate(processes)]
        together([partial(work, *one) for one in works])
    assert sorted(done) == sorted(set(done))
    assert len(done) == 100
    assert max(most.values()) == 2
    assert (desk.taken(), desk.in_state("held"), desk.in_state("ready")) == (0, "", "")


def test_a_key_with_very_many_rows_hides_no_other(desk: Desk, one: Process) -> None:
    """JB-9: they are passed once, in bounded portions"""
    desk.enqueue("a" * 3000)
    desk.enqueue("b")
    assert keys(one.claim(10)) == "a"
    looks = [one.claim(10, look=1000) for _ in range(4)]
    assert [(keys(look), look.held) for look in looks[:2]] == [("", 1000), ("", 1000)]
    assert "b" in [keys(look) for look in looks[2:]]
    assert one.claim(10, look=1000).met == 0


def test_a_worker_passes_by_a_key_with_very_many_rows(desk: Desk) -> None:
    """JB-9: in one drain, and each of them is served in its turn"""
    desk.enqueue("a" * 150)
    desk.enqueue("bcb", first=150)
    desk.app.drain()
    assert len(desk.served) == 153
    assert [name for name in desk.served if name[0] == "a"] == [f"a{n}" for n in range(150)]
    assert desk.served.index("c151") < 110
    assert (desk.taken(), desk.in_state("held")) == (0, "")


def test_rows_of_a_full_key_are_passed_by_in_great_steps(desk: Desk) -> None:
    """JB-9: a worker with little room does not crawl past them"""
    desk.enqueue("a" * 2000)
    desk.enqueue("b", first=2000)
    with hands(desk.app, 1) as (worker,):
        worker.tick(5)
    assert "b2000" in desk.served


def test_what_may_go_on_is_claimed_at_once_and_before_what_came_later(
    migrated_url: str, clock: Clock
) -> None:
    """JB-9: also while claims come back full, and go on behind each other"""
    with application(migrated_url, clock=clock, settings={"worker.queues.default": 4}) as app:
        desk = Desk(app)
        desk.enqueue(["a", "a", *(f"t{number}" for number in range(20))])
        with hands(app, 1, holds_on=True) as (worker,):
            worker.tick(2)
            worker.slots.perform("a")
            worker.go_on()
            assert [call.item.key for call in worker.slots.begun][-1] == "a"


@pytest.mark.parametrize("beside", [False, True], ids=["", "settled beside"])
def test_a_worker_rests_once_all_that_is_left_waits_for_its_key(desk: Desk, beside: bool) -> None:
    """JB-9: and goes on at once when there is a slot, though nobody rings"""
    desk.enqueue("aaa")
    with hands(desk.app, 1, holds_on=True, settles_beside=beside) as (worker,):
        worker.tick()
        for number in range(3):
            assert worker._worker.tick(worker.connection) > 0
            assert len(worker.slots.begun) == 1
            worker.slots.perform()
            worker.go_on()
            worker.settle()
            worker.go_on()
            assert len(desk.served) == number + 1


def test_a_process_that_was_declared_dead_takes_no_slot(desk: Desk, one: Process) -> None:
    """JB-9"""
    desk.enqueue("a")
    desk.change(desk.app.worker_table.delete())
    assert (keys(one.claim()), desk.taken()) == ("", 0)


def test_slots_of_a_dead_process_are_freed_with_it_and_its_rows_go_first(
    desk: Desk, one: Process, other: Process
) -> None:
    """JB-9: whether they did it is not known, so they run alone; the others of the key wait"""
    desk.enqueue("aab")
    assert keys(one.claim()) == "ab"
    desk.change(update(desk.live).where(desk.live.c.owner == one.id).values(_SUSPECT))
    _bury(desk, one)
    assert (desk.taken(), desk.in_state("held"), desk.in_state("ready")) == (0, "a", "")
    suspects = [*other.claim_suspect(), *other.claim_suspect()]
    assert (keys(suspects), [item.alone for item in suspects]) == ("ab", [True, True])
    other.settle(suspects)
    assert (desk.in_state("held"), desk.in_state("ready")) == ("", "a")


def test_a_dead_process_whose_rows_are_settled_lets_the_others_go_on(
    desk: Desk, one: Process
) -> None:
    """JB-9: it died between settling and freeing"""
    desk.enqueue("aa")
    one.end(one.claim().items)
    _bury(desk, one)
    assert (desk.taken(), desk.in_state("ready")) == (0, "a")


def test_a_suspect_waits_for_a_slot_of_its_key(desk: Desk, one: Process, other: Process) -> None:
    """JB-9: and one whose key has a slot left does not wait behind it"""
    desk.enqueue("ab")
    desk.change(update(desk.live).values(_SUSPECT))
    claims = desk.app.job_room.key_claims
    first = one.claim_suspect()
    assert keys(first) == "a"
    assert claims.has_room_for_suspect(other.connection, desk.stream)
    desk.enqueue("b")
    assert keys(one.claim()) == "b"
    assert not claims.has_room_for_suspect(other.connection, desk.stream)
    assert other.claim_suspect() == []
    assert desk.in_state("suspect") == "b"


def test_freeing_may_be_repeated_when_no_reply_came(app: Todoke) -> None:
    """JB-9: it is told what to keep, so a second time frees nothing that is in use"""
    desk = Desk(app, at_once=2)
    desk.enqueue("aaa")
    with process(desk) as one:
        first, second = one.claim().items
        one.end([first])
        strand = {first.strand: 1}
        for readied in (1, 0, 0):
            with one.connection.begin():
                assert len(desk.keys.trim(one.connection, one.id, strand)) == readied
            assert desk.taken() == 1
        one.end([second])
        one.free()
        assert desk.taken() == 0


def test_slots_of_a_claim_whose_reply_was_lost_are_freed(desk: Desk, one: Process) -> None:
    """JB-9 OB-15: the process lives on, and knows of none of them"""
    desk.enqueue("aabb")
    (known, _) = one.claim().items
    one.hands.let_go(one.id, [known])  # forgets b, which the test plays to have heard nothing of
    forgetful = Process(desk, one.connection)
    forgetful.id = one.id
    forgetful.hands.take(one.id, [known])
    with one.connection.begin():
        one.connection.execute(
            update(desk.live).where(desk.live.c.key == "b", desk.live.c.owner == one.id)
            .values(owner=None)
        )  # fmt: skip
    forgetful.hands.doubt(one.id)
    assert forgetful.free() == 1
    assert (desk.taken(), desk.in_state("ready"), desk.in_state("held")) == (1, "bb", "a")


def test_the_same_row_may_be_in_hand_again_before_its_answer_is_heard_of(app: Todoke) -> None:
    """JB-9: settled beside the worker as free, claimed again, and only then noted"""
    desk = Desk(app, at_once=2)
    desk.enqueue("a")
    with process(desk) as one:
        first = one.claim().items
        desk.change(update(desk.live).values(owner=None))
        again = one.claim().items
        assert (keys(again), desk.taken()) == ("a", 2)
        one.hands.let_go(one.id, first)
        one.free()
        assert desk.taken() == 1
        one.settle(again)
        assert desk.taken() == 0


def test_a_person_may_take_away_what_waits(desk: Desk, one: Process) -> None:
    """JB-9: held or readied; what is behind it is found by the sweep at the latest"""
    desk.enqueue("aaaa")
    items = one.claim().items
    held = desk.live.delete().where(desk.live.c.state == "held")
    desk.change(held.where(desk.live.c.id == items[0].id + 1))
    assert one.settle(items) == 1
    desk.change(desk.live.delete().where(desk.live.c.state == "ready"))
    assert (desk.in_state("held"), desk.in_state("ready")) == ("a", "")
    assert (desk.sweep(), desk.in_state("ready"), desk.sweep()) == (1, "a", 0)


def _number(item: Item) -> int:
    return Errand.model_validate_json(item.body).number


_SUSPECT = {"state": "suspect", "owner": None}


def _bury(desk: Desk, one: Process) -> None:
    """What the rescuer does at the end, in the transaction that returns its rows."""
    with desk.app.engine.begin() as connection:
        leases(desk.app).deregister(connection, one.id)
