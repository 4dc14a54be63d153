"""Streams that are paused: nothing is claimed from them, and they keep nobody else waiting."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from tests.application import Noted, publish
from tests.order.hands import Hand, hands
from tests.work.key_desk import Desk
from todoke import Todoke
from todoke.jobs.resting import Resting
from todoke.testing import Clock


@pytest.fixture
def paused(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Source and stream of all that a person wants to rest."""
    resting: set[tuple[str, str]] = set()
    monkeypatch.setattr(Resting, "stream", lambda _, source, stream: (source, stream) in resting)
    return resting


def rest_of(hand: Hand) -> float:
    return hand._worker.tick(hand.connection)


def test_a_paused_stream_is_not_claimed_from_until_it_is_over(
    app: Todoke, clock: Clock, paused: set[tuple[str, str]]
) -> None:
    """JB-9: then it is looked at within a second, whoever rings meanwhile"""
    desk, seen = Desk(app), list[int]()

    @app.on(Noted)
    def note(event: Noted) -> None:
        seen.append(event.order_id)

    paused.add(("job", desk.stream))
    desk.enqueue("ab")
    publish(app, Noted(order_id=1))
    with hands(app, 1) as (worker,):
        worker.tick(3)
        assert (desk.served, seen) == ([], [1])
        paused.clear()
        worker.go_on()
        assert desk.served == [], "not yet"
        clock.advance("1s")
        worker.go_on()
        assert desk.served == ["a0", "b1"]


def test_another_source_of_the_same_stream_goes_on(
    app: Todoke, paused: set[tuple[str, str]]
) -> None:
    """JB-9: a queue of jobs has the name of a queue of events"""
    seen: list[str] = []

    @app.on(Noted)
    def note(event: Noted) -> None:
        seen.append("event")

    @app.job()
    def work() -> None:
        seen.append("job")

    paused.add(("job", "todoke/default"))
    with app.session() as session:
        work.enqueue(session)
    publish(app, Noted(order_id=1))
    with hands(app, 1) as (worker,):
        worker.tick(3)
    assert seen == ["event"]


def test_what_waits_in_a_paused_stream_does_not_keep_the_worker_awake(
    app: Todoke, paused: set[tuple[str, str]]
) -> None:
    """JB-9"""
    desk = Desk(app)
    paused.add(("job", desk.stream))
    desk.enqueue("a" * 50)
    with hands(app, 1) as (worker,):
        worker.tick(3)
        assert rest_of(worker) > 0


def test_suspects_of_a_paused_stream_wait_and_nobody_for_them(
    app: Todoke, clock: Clock, paused: set[tuple[str, str]]
) -> None:
    """JB-9: a worker that waits for one takes nothing else in"""
    desk, seen = Desk(app), list[int]()

    @app.on(Noted)
    def note(event: Noted) -> None:
        seen.append(event.order_id)

    desk.enqueue("a")
    desk.change(update(desk.live).values(state="suspect"))
    paused.add(("job", desk.stream))
    with hands(app, 1, holds_on=True) as (worker,):
        for number in range(3):
            publish(app, Noted(order_id=number))
            clock.advance("1s")
            worker.renew()
            worker.tick()
        assert len(worker.slots.begun) == 3, "with others in hand it goes on claiming"
        worker.slots.perform()
        assert (seen, desk.in_state("suspect")) == ([0, 1, 2], "a")
        paused.clear()
        for _ in range(3):
            clock.advance("1s")
            worker.renew()
            worker.tick()
            worker.slots.perform()
        assert desk.served == ["a0"]


def test_a_suspect_whose_key_is_full_keeps_nobody_waiting(app: Todoke, clock: Clock) -> None:
    """JB-9: as long as another process has the slot, which may be hours"""
    desk = Desk(app)
    desk.enqueue("a")
    with hands(app, 2, holds_on=True) as (one, other):
        one.tick()
        assert len(one.slots.begun) == 1
        desk.enqueue("a", first=1)
        live = desk.live
        desk.change(update(live).where(live.c.owner.is_(None)).values(state="suspect"))
        for number, tenant in enumerate("bcd", 2):
            desk.enqueue(tenant, first=number)
            clock.advance("1s")
            one.renew()
            other.renew()
            other.tick()
        assert [call.item.key for call in other.slots.begun] == ["b", "c", "d"]
        for _ in range(4):
            for worker in (one, other):
                worker.slots.perform()
                clock.advance("1s")
                worker.renew()
                worker.tick()
        assert sorted(desk.served) == ["a0", "a1", "b2", "c3", "d4"]
