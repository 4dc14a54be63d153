"""Lanes take turns: while there is more than a claim takes, none is always the last."""

from __future__ import annotations

from typing import Any

from todoke.work.stream import Tap


def tap() -> Tap:
    source: Any = None
    return Tap(source, "todoke/default", ordered=True)


def test_the_next_claim_begins_behind_the_lanes_that_were_served() -> None:
    """OB-9"""
    one, lanes = tap(), list(range(8))
    assert one.next_lanes(lanes, 64) == lanes
    one.served(lanes, {0, 1, 2})
    assert one.next_lanes(lanes, 64) == [3, 4, 5, 6, 7, 0, 1, 2]
    one.served([3, 4, 5, 6, 7, 0, 1, 2], {3, 5, 0})
    assert one.next_lanes(lanes, 64) == [1, 2, 3, 4, 5, 6, 7, 0]


def test_where_a_claim_looks_into_few_lanes_they_take_turns() -> None:
    """OB-9"""
    one, lanes = tap(), [5, 1, 9, 3]
    looked = [one.next_lanes(lanes, 2) for _ in range(4)]
    assert looked == [[1, 3], [5, 9], [1, 3], [5, 9]]


def test_a_lane_that_is_gone_does_not_stop_the_others() -> None:
    """OB-9"""
    one = tap()
    one.served([0, 1, 2, 3], {0, 1})
    assert one.next_lanes([0, 3], 64) == [3, 0]
