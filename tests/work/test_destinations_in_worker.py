"""Limits and rates of destinations, as workers keep them: room is taken, used and given back."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from tests.application import Noted, Placed, Shipped, application, letters, publish, statuses
from tests.waiting import until
from tests.work.running import Gate, quick_application, worker
from todoke import Attempt, Backoff, Breaker, Limit, PermanentError, Rate, Todoke, TransientError
from todoke.errors import InvalidOption
from todoke.testing import Clock


class Crowd:
    """How many are inside at once."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.most = self._inside = 0
        self._lock, self._moment = threading.Lock(), threading.Event()

    def pass_through(self, who: int) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self._moment.wait(0.002)
        with self._lock:
            self._inside -= 1
            self.seen.append(who)


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with quick_application(migrated_url) as app:
        yield app


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def slots_held(app: Todoke) -> int:
    with app.engine.begin() as connection:
        return sum(one.slots_held for one in app.destinations.status(connection))


def all_processed(app: Todoke) -> bool:
    return {status for status, _ in statuses(app)} == {"PROCESSED"}


def test_a_limit_holds_over_two_workers_and_everything_gets_through(app: Todoke) -> None:
    """OB-15, ID-6"""
    crowd = Crowd()

    @app.on(Noted, limit=Limit(2))
    def call(event: Noted) -> None:
        crowd.pass_through(event.order_id)

    with worker(app), worker(app):
        publish(app, *(Noted(order_id=number) for number in range(200)))
        until(lambda: len(crowd.seen) == 200, 60)
        until(lambda: slots_held(app) == 0)
    assert sorted(crowd.seen) == list(range(200))
    assert crowd.most == 2


def test_handlers_that_share_a_destination_share_its_limit(app: Todoke) -> None:
    """OB-15, ID-6"""
    crowd, psp = Crowd(), Breaker("psp")

    @app.on(Noted, limit=Limit(2), breaker=psp)
    def charge(event: Noted) -> None:
        crowd.pass_through(event.order_id)

    @app.on(Shipped, limit=Limit(2), breaker=psp)
    async def refund(event: Shipped) -> None:
        crowd.pass_through(event.order_id)

    publish(app, *(Noted(order_id=number) for number in range(40)))
    publish(app, *(Shipped(order_id=number) for number in range(40)))
    with worker(app):
        until(lambda: len(crowd.seen) == 80, 60)
    assert crowd.most == 2


def test_handlers_that_disagree_about_a_destination_are_refused_at_start(app: Todoke) -> None:
    """OB-15"""
    psp = Breaker("psp")

    @app.on(Noted, limit=Limit(2), breaker=psp)
    def charge(event: Noted) -> None: ...

    @app.on(Shipped, limit=Limit(3), breaker=psp)
    def refund(event: Shipped) -> None: ...

    with pytest.raises(InvalidOption, match=r"refund.*psp.*other bounds"), worker(app):
        pass


def test_no_more_begin_than_the_rate_allows(migrated_url: str) -> None:
    """OB-15, ID-6"""
    clock = Clock()
    with application(migrated_url, clock=clock) as app:
        seen: list[int] = []

        @app.on(Noted, limit=Rate(5, "1s"))
        def call(event: Noted) -> None:
            seen.append(event.order_id)

        publish(app, *(Noted(order_id=number) for number in range(20)))
        counts = []
        for pause in ("0s", "200ms", "1s", "1s", "1h"):
            clock.advance(pause)
            app.drain()
            counts.append(len(seen))
    assert counts == [5, 6, 11, 16, 20]


@pytest.mark.parametrize("ending", ["answers", "fails", "dies", "expires", "hangs", "session"])
def test_a_slot_is_given_back_however_a_call_ends(app: Todoke, gate: Gate, ending: str) -> None:
    """ID-6: with one slot, the second is only delivered once the first has let go."""
    seen: list[int] = []

    def call(event: Placed, attempt: Attempt) -> None:
        if event.note == "fails" and attempt.number == 1:
            raise TransientError("503")
        if event.note == "dies":
            raise PermanentError("400")
        if event.note == "hangs" and attempt.number == 1:
            gate.wait()
        seen.append(event.order_id)

    def in_session(event: Placed, session: Session, attempt: Attempt) -> None:
        call(event, attempt)

    handler = in_session if ending == "session" else call
    quickly = Backoff("20ms", attempts=2)
    app.on(Placed, name="call", limit=Limit(1), retry=quickly, timeout="200ms")(handler)
    expires = {"expires": "1ms"} if ending == "expires" else {}
    publish(app, *(Placed(order_id=1, note=ending) for _ in range(3)), **expires)
    publish(app, *(Placed(order_id=number) for number in range(2, 10)))
    with worker(app):
        until(lambda: set(range(2, 10)) <= set(seen), 30)
        until(lambda: slots_held(app) == 0)
        gate.open()


def test_a_slot_is_given_back_when_its_worker_stops(app: Todoke, gate: Gate) -> None:
    """ID-6"""

    @app.on(Noted, limit=Limit(2))
    def call(event: Noted) -> None:
        gate.wait()

    publish(app, *(Noted(order_id=number) for number in range(4)))
    with worker(app, drain=0.1):
        until(lambda: len(gate.arrived) == 2)
        assert slots_held(app) == 2
    assert slots_held(app) == 0
    gate.open()
    with worker(app):
        until(lambda: all_processed(app), 30)


def test_a_slow_destination_delays_no_other_handler(app: Todoke, gate: Gate) -> None:
    """OB-8, OB-15: what it has no room for is not claimed, so threads stay free."""
    seen: list[int] = []

    @app.on(Noted, limit=Limit(2))
    def slow(event: Noted) -> None:
        gate.wait()

    @app.on(Noted, name="quick")
    def quick(event: Noted) -> None:
        seen.append(event.order_id)

    with worker(app) as (runtime, _):
        publish(app, *(Noted(order_id=number) for number in range(100)))
        until(lambda: len(seen) == 100, 30)
        assert len(gate.arrived) == 2
        until(lambda: runtime.counts["processed"] >= 200)
        assert runtime.counts["claimed"] <= 202, "the events, the quick ones, and two"
        gate.open()
        until(lambda: all_processed(app), 60)


def test_events_of_a_key_stay_in_order_through_a_destination(app: Todoke) -> None:
    """OB-9, OB-15: also where every seventh fails at first, and two workers share it."""
    seen: defaultdict[int, list[int]] = defaultdict(list)

    @app.on(Placed, limit=Limit(3), breaker=Breaker("psp", failures=1000), retry=Backoff("20ms"))
    def call(event: Placed, attempt: Attempt) -> None:
        if int(event.note) % 7 == 0 and attempt.number == 1:
            raise TransientError("503")
        seen[event.order_id].append(int(event.note))

    steps = [Placed(order_id=key, note=str(step)) for step in range(20) for key in range(5)]
    with worker(app), worker(app):
        publish(app, *steps)
        until(lambda: sum(map(len, seen.values())) == 100, 60)
        until(lambda: slots_held(app) == 0)
    assert list(seen.values()) == [list(range(20))] * 5
    assert letters(app) == []
