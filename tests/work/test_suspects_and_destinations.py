"""A row that was in a process when it died is run alone, and within its destination's bounds."""

from __future__ import annotations

from tests.application import Noted, Placed, deliveries, publish
from tests.order.hands import Hand, hands
from todoke import Breaker, Limit, Todoke, TransientError
from todoke.testing import Clock


def dies_with(app: Todoke, clock: Clock, *events: Noted) -> None:
    """A process claims these deliveries, begins none of them, and is declared dead."""
    publish(app, *events)
    with hands(app, 1, holds_on=True) as (dying,):
        dying.tick(3)
        assert len(dying.slots.begun) == len(events)
        clock.advance("16s")
    with hands(app, 1) as (rescuer,):
        rescuer.rescue()
        rescuer.runtime.membership.leave(rescuer.connection)


def test_a_suspect_waits_for_room_and_takes_it(app: Todoke, clock: Clock) -> None:
    """OB-7 OB-15: no more are inside than the limit says, suspect or not"""
    seen: list[int] = []

    @app.on(Noted, limit=Limit(1))
    def call(event: Noted) -> None:
        seen.append(event.order_id)

    dies_with(app, clock, Noted(order_id=1))
    publish(app, Noted(order_id=2))
    with hands(app, 2, holds_on=True) as (first, second):
        first.tick(2)
        begun = [call.item.alone for call in first.slots.begun]
        assert begun == [True]
        second.tick(3)
        assert second.slots.begun == []
        first.slots.perform()
        ticks_until_idle(clock, first, second)
    assert sorted(seen) == [1, 2]


def test_a_suspect_leaves_a_resting_destination_alone(app: Todoke, clock: Clock) -> None:
    """OB-7 OB-15: and meanwhile keeps no other work from being done"""
    seen: list[int] = []
    away = True

    @app.on(Noted, breaker=Breaker("psp", failures=1, rest="60s"))
    def call(event: Noted) -> None:
        if away:
            raise TransientError("503")
        seen.append(event.order_id)

    @app.on(Placed)
    def other(event: Placed) -> None:
        seen.append(event.order_id)

    dies_with(app, clock, Noted(order_id=1))
    with hands(app, 1) as (worker,):
        publish(app, Noted(order_id=2))
        settle(app, worker, clock)
        tried = [row.attempt for row in deliveries(app)]
        publish(app, *(Placed(order_id=number) for number in range(10, 20)))
        worker.tick(5)
        assert sorted(seen) == [*range(10, 20)]
        assert [row.attempt for row in deliveries(app)] == tried
        away = False
        for _ in range(4):
            clock.advance("60s")
            worker.renew()
            worker.stage()
            worker.tick(5)
    assert sorted(seen) == [1, 2, *range(10, 20)]


def settle(app: Todoke, worker: Hand, clock: Clock) -> None:
    """Until the destination rests."""
    worker.tick(5)
    clock.advance("1s")
    worker.renew()
    worker.tick(5)


def ticks_until_idle(clock: Clock, *workers: Hand) -> None:
    for _ in range(6):
        clock.advance("1s")
        for one in workers:
            one.renew()
            one.tick(2)
            one.slots.perform()
