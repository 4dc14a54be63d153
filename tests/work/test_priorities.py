"""Priorities: the most urgent first, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.order.hands import hands
from tests.work.claimer import Claimer
from tests.work.key_desk import Desk, process
from todoke import Todoke
from todoke.testing import Clock
from todoke.work.item import Item
from todoke.work.level import Levels
from todoke.work.mark import BEGINNING, Mark

ROOM = 4
BEHIND = 2**63 - 1


def items(*priorities: int) -> Sequence[Item]:
    blank = Item(*[None] * len(Item._fields))  # type: ignore[arg-type]
    return [blank._replace(id=n, priority=one) for n, one in enumerate(priorities)]


@pytest.fixture(params=["counted by key", "not counted"])
def desk(request: pytest.FixtureRequest, app: Todoke, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk(app)
    if request.param == "not counted":
        monkeypatch.setattr(desk.keys, "limit_of", lambda _stream: None)
    return desk


def enqueue(desk: Desk, count: int, priority: int) -> None:
    """Each of another tenant."""
    base = len(names)
    names.extend(f"t{base + n}" for n in range(count))
    desk.enqueue(names[base:], priority=priority)


names: list[str] = []


def test_the_most_urgent_come_first_then_the_oldest(desk: Desk) -> None:
    """JB-9: higher is sooner"""
    for priority in (0, -1, 7, 0, 3):
        enqueue(desk, 1, priority)
    with process(desk) as one:
        assert Claimer(desk, one).claim(10) == [7, 3, 0, 0, -1]


def test_a_steady_stream_of_urgent_work_starves_nobody(desk: Desk) -> None:
    """JB-9: of each five claims one is for the others, each priority in its turn"""
    for priority in (0, -3, -9):
        enqueue(desk, 3 * ROOM, priority)
    with process(desk) as one:
        claimer, claimed = Claimer(desk, one), list[list[int]]()
        for _ in range(30):
            enqueue(desk, ROOM, 5)
            claimed.append(claimer.claim(ROOM))
    turns = [number for number, got in enumerate(claimed, 1) if got != [5] * ROOM]
    assert turns == [5, 10, 15, 20, 25, 30][: len(turns)]
    assert [claimed[turn - 1][0] for turn in turns[:3]] == [0, -3, -9]
    assert sum(got.count(0) for got in claimed) >= ROOM


def test_each_of_the_others_is_done_after_a_bounded_number_of_claims(desk: Desk) -> None:
    """JB-9: n rows in levels of one each, five claims for each of them"""
    for priority in range(-1, -7, -1):
        enqueue(desk, 1, priority)
    with process(desk) as one:
        claimer, got = Claimer(desk, one), list[int]()
        for _ in range(5 * 6):
            enqueue(desk, 1, 5)
            got += claimer.claim(1)
    assert set(got) == {5, -1, -2, -3, -4, -5, -6}


def test_full_keys_do_not_cost_the_others_their_turn(app: Todoke) -> None:
    """JB-9: they are in the way once, and it is still the turn of those behind them"""
    desk = Desk(app)
    desk.enqueue("z")
    with process(desk) as busy, process(desk) as one:
        assert len(busy.claim().items) == 1
        desk.enqueue("z" * ROOM, priority=-3)
        desk.enqueue("y", priority=-3)
        claimer, claimed = Claimer(desk, one), list[list[int]]()
        for _ in range(6):
            enqueue(desk, ROOM, 5)
            claimed.append(claimer.claim(ROOM))
    assert claimed == [[5] * ROOM] * 5 + [[-3]]


def test_while_all_is_of_one_priority_nothing_else_is_asked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    """JB-9: but once a second"""
    enqueue(desk, 40 * ROOM, 0)
    with process(desk) as one:
        claimer, asked = Claimer(desk, one), list[object]()
        for claims in (desk.app.claims[2], desk.app.job_room.key_claims):
            run = claims._run

            def counted(*given: object, run: object = run, **named: object) -> object:
                asked.append(given)
                return run(*given, **named)  # type: ignore[operator]

            monkeypatch.setattr(claims, "_run", counted)
        for _ in range(2):
            assert [claimer.claim(ROOM) for _ in range(15)] == [[0] * ROOM] * 15
            assert len(asked) == 15 + 1
            asked.clear()
            clock.advance("1s")


def test_what_is_urgent_is_claimed_at_once_while_others_wait_in_masses(desk: Desk) -> None:
    """JB-9: a claim that goes on behind the last one would not come by it"""
    enqueue(desk, 1, 5)
    enqueue(desk, 10 * ROOM, 0)
    with process(desk) as one:
        claimer = Claimer(desk, one)
        assert claimer.claim(ROOM) == [5, 0, 0, 0]
        assert claimer.claim(ROOM) == [0] * ROOM
        enqueue(desk, 1, 5)
        assert claimer.claim(ROOM) == [5, 0, 0, 0]


def test_a_worker_serves_by_priority(app: Todoke) -> None:
    """JB-9: as it was enqueued"""
    desk = Desk(app)
    for priority, tenants in ((0, "ab"), (-50, "cd"), (100, "ef"), (0, "g")):
        desk.enqueue(tenants, priority=priority)
    with hands(app, 1) as (worker,):
        worker.tick()
    assert [name[0] for name in desk.served] == list("efabgcd")


def test_the_others_have_every_fifth_turn_each_level_after_the_other() -> None:
    """JB-9"""
    levels = Levels()
    for _ in range(4):
        assert levels.start(10.0) is None
        levels.note(items(0, 0), full=True)
    assert levels.start(10.0) == (0, BEHIND)
    levels.note_others(items(3, 4), 10.0)
    for _ in range(4):
        assert levels.start(10.0) is None
        levels.note(items(0, 1), full=True)
    assert levels.start(10.0) == (3, BEHIND)
    levels.note_others(items(), 10.0)
    assert levels.start(10.0) == (1, BEHIND), "from the first again"


def test_a_claim_that_was_not_full_has_served_everybody() -> None:
    """JB-9"""
    levels = Levels()
    for full in (True, True, True, False, True):
        levels.note(items(0), full=full)
    assert levels.start(10.0) is None


def test_where_there_are_no_others_it_is_looked_again_a_second_later() -> None:
    """JB-9"""
    levels = Levels()
    for _ in range(4):
        levels.note(items(0), full=True)
    levels.note_others(items(), 10.0)
    assert levels.start(10.9) is None
    assert levels.start(11.0) == (0, BEHIND)


def test_behind_less_urgent_rows_each_claim_begins_from_the_beginning() -> None:
    """JB-9: unless that takes long, and did so the last time"""
    mark = Mark()
    for took, starts in ((0.001, BEGINNING), (0.02, BEGINNING), (0.02, (4, 1))):
        mark.start(10.0)
        mark.note(items(0, 4), 10.0, 10.0 + took, full=True)
        assert mark.start(10.1) == starts
    assert mark.start(11.1) == BEGINNING


def test_a_row_that_comes_back_is_not_passed_by() -> None:
    """JB-9: one of a key that has a slot again"""
    mark = Mark()
    mark.start(10.0)
    mark.note(items(0, 0, 0), 10.0, 10.001, full=True)
    mark.look_back(0, 7)
    assert mark.start(10.1) == (0, 2)
    mark.look_back(0, 2)
    assert mark.start(10.1) == (0, 1)
