"""What nobody frees a slot for is found: limits that changed, rows that were taken away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import insert, update

from tests.work.key_desk import Desk, Process, keys, process
from todoke import Todoke
from todoke.work import key_slots


@pytest.fixture
def desk(app: Todoke) -> Desk:
    return Desk(app)


@pytest.fixture
def one(desk: Desk) -> Iterator[Process]:
    with process(desk) as made:
        yield made


def test_while_all_slots_are_taken_nothing_is_readied(desk: Desk, one: Process) -> None:
    """JB-9"""
    desk.enqueue("aab")
    assert keys(one.claim()) == "ab"
    assert (desk.sweep(), desk.in_state("held")) == (0, "a")


def test_a_raised_limit_holds_soon(
    desk: Desk, one: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JB-9: for what was held under the old one"""
    desk.enqueue("aaaaabb")
    assert keys(one.claim()) == "ab"
    monkeypatch.setattr(desk.keys, "limit_of", lambda _stream: 3)
    assert (desk.sweep(), desk.in_state("ready"), desk.in_state("held")) == (3, "aab", "aa")
    assert keys(one.claim()) == "aab"


def test_a_lowered_limit_holds_once_the_old_ones_end(
    app: Todoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JB-9"""
    desk = Desk(app, at_once=3)
    desk.enqueue("aaaa")
    with process(desk) as one:
        first, second, third = one.claim().items
        monkeypatch.setattr(desk.keys, "limit_of", lambda _stream: 1)
        for ended, running in ((first, 2), (second, 1)):
            one.settle([ended])
            assert (keys(one.claim()), desk.taken(), desk.sweep()) == ("", running, 0)
        one.settle([third])
        assert (keys(one.claim()), desk.taken()) == ("a", 1)


def test_rows_whose_limit_is_gone_are_readied(
    desk: Desk, one: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JB-9: but not while somebody has slots of the key, who counts it still"""
    desk.enqueue("aaa")
    items = one.claim().items
    monkeypatch.setattr(desk.keys, "limit_of", lambda _stream: None)
    assert (desk.sweep(), desk.in_state("held")) == (0, "aa")
    one.settle(items)
    assert (desk.sweep(), desk.in_state("ready")) == (1, "aa")


def test_slots_of_a_process_that_nobody_knows_are_freed(desk: Desk, one: Process) -> None:
    """JB-9: its registration was taken away by hand"""
    desk.enqueue("aa")
    one.end(one.claim().items)
    desk.change(desk.app.worker_table.delete())
    desk.sweep()
    assert (desk.taken(), desk.in_state("ready")) == (0, "a")


def test_a_sweep_looks_at_so_many_keys_and_the_next_goes_on_behind_them(
    desk: Desk, one: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JB-9: what one costs is bounded, however many keys wait"""
    monkeypatch.setattr(key_slots, "_SWEPT_KEYS", 3)
    desk.enqueue("abcde" * 2)
    assert keys(one.claim()) == "abcde"
    desk.change(desk.keys.slots.delete())
    assert [desk.sweep(), desk.sweep(), desk.sweep(), desk.sweep()] == [3, 2, 0, 0]
    assert sorted(desk.in_state("ready")) == sorted("abcde")


def test_what_is_held_for_other_reasons_stays_held(desk: Desk) -> None:
    """JB-9: jobs that a person has paused have no key, events that wait in order have a lane"""
    desk.enqueue("ab")
    live = desk.live
    desk.change(update(live).where(live.c.key == "a").values(state="held", strand=0))
    desk.change(update(live).where(live.c.key == "b").values(state="held", lane=7))
    assert (desk.sweep(), desk.in_state("held")) == (0, "ab")


def test_what_has_no_key_needs_no_slot(desk: Desk, one: Process) -> None:
    """JB-9: such as what was enqueued before there was a limit"""
    desk.enqueue("abc")
    desk.change(update(desk.live).where(desk.live.c.key != "c").values(strand=0))
    items = one.claim().items
    assert (keys(items), desk.taken()) == ("abc", 1)
    one.settle(items)
    assert desk.taken() == 0


def test_a_suspect_is_waited_for(desk: Desk, one: Process) -> None:
    """JB-9: the slot that is free is its"""
    desk.enqueue("aa")
    items = one.claim().items
    suspect = {"state": "suspect", "owner": None}
    desk.change(update(desk.live).where(desk.live.c.id == items[0].id).values(suspect))
    desk.change(desk.keys.slots.delete())
    assert (desk.sweep(), desk.in_state("held")) == (0, "a")
    desk.change(desk.live.delete().where(desk.live.c.state == "suspect"))
    assert (desk.sweep(), desk.in_state("ready")) == (1, "a")


def test_slots_are_taken_by_registered_processes_only_and_once(desk: Desk, one: Process) -> None:
    """JB-9: the database itself refuses a second of the same number"""
    desk.enqueue("a")
    (item,) = one.claim().items
    again = {"strand": item.strand, "number": 0, "owner": one.id}
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        desk.change(insert(desk.keys.slots).values(again))
