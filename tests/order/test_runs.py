"""What a process has in hand of a key: who may begin, who waits, who goes back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from todoke.work.order import Entry, Runs
from todoke.work.settlement import HandedBack

OWNER = uuid4()


def entry(number: int, *, goes_back: bool = False) -> Entry:
    place = {"strand": 1, "stream": "todoke/default", "lane": 7}
    item: Any = SimpleNamespace(id=number, claim=(number, 1), **place)
    return Entry(item, OWNER, HandedBack(item), goes_back)


def in_hand(runs: Runs, *entries: Entry) -> list[bool]:
    return [runs.add(one) for one in entries]


def test_one_begins_and_the_next_when_it_is_settled() -> None:
    """OB-9"""
    runs, first, second, third = Runs(), entry(1), entry(2), entry(3)
    assert in_hand(runs, first, second, third) == [True, False, False]
    assert runs.settled(second.item) is None
    assert runs.settled(first.item) is third
    assert runs.settled(third.item) is None
    assert not runs.is_busy("todoke/default", 7)


def test_what_goes_back_keeps_its_place_until_it_has_left() -> None:
    """OB-9"""
    runs, head, follower, newcomer = Runs(), entry(1), entry(2), entry(3)
    in_hand(runs, head, follower)
    assert runs.send_back(head.item) == [follower]
    assert runs.send_back(head.item) == []
    runs.leave(head.item)
    assert not runs.add(newcomer)
    assert runs.is_busy("todoke/default", 7)
    assert runs.send_back(follower.item) == [newcomer]
    runs.leave(follower.item)
    runs.leave(newcomer.item)
    assert runs.claims() == []


def test_what_comes_first_does_not_wait_for_what_goes_back() -> None:
    """OB-9: or each would send the other back for ever."""
    runs, third, second = Runs(), entry(3, goes_back=True), entry(2, goes_back=True)
    in_hand(runs, second, third)
    again = entry(2)
    assert runs.add(entry(1))
    assert not runs.add(again)
    assert [row for row, _ in runs.claims()] == [1, 2, 2, 3]


def test_none_begins_behind_one_that_goes_back() -> None:
    """OB-9: the database was lost between the claims of the first and of the second."""
    runs, first, second, third = Runs(), entry(1), entry(2, goes_back=True), entry(3)
    assert in_hand(runs, first, second, third) == [True, False, False]
    assert runs.settled(first.item) is None
    assert runs.send_back(second.item) == [third]


def test_one_that_goes_back_leaves_from_the_middle() -> None:
    """OB-9"""
    runs, first, second = Runs(), entry(1), entry(2, goes_back=True)
    in_hand(runs, first, second)
    assert runs.settled(second.item) is None
    assert [row for row, _ in runs.claims()] == [1]
