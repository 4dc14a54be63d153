"""A destination that fails rests: nothing is claimed, nothing is lost, then one call tries it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import update

from tests.application import Noted, Placed, application, letters, publish, statuses
from tests.waiting import until
from tests.work.running import Gate, quick_application, worker
from todoke import (
    Attempt,
    Backoff,
    Breaker,
    Limit,
    Outcome,
    PermanentError,
    Snooze,
    Todoke,
    TransientError,
)
from todoke.runtime import Runtime
from todoke.telemetry import Counts
from todoke.testing import Clock

PSP = Breaker("psp", failures=3, rest="30s")
ONE_BY_ONE = Limit(1)
"""Under a test's clock calls run one after the other anyway; so each is judged before the next."""


class Provider:
    """What the handlers call; down until the test says otherwise."""

    def __init__(self) -> None:
        self.is_down, self.asked = True, list[int]()
        self.served: list[int] = []

    def charge(self, order_id: int) -> None:
        self.asked.append(order_id)
        if self.is_down:
            raise TransientError("503")
        self.served.append(order_id)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    with application(migrated_url, clock=clock) as app:
        yield app


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def provider() -> Provider:
    return Provider()


def drain(app: Todoke) -> Counts:
    runtime = Runtime(app)
    runtime.drain()
    return runtime.counts


def is_open(app: Todoke) -> bool:
    with app.engine.begin() as connection:
        return any(one.open_until for one in app.destinations.status(connection))


def orders(count: int) -> list[Noted]:
    return [Noted(order_id=number) for number in range(count)]


def test_nothing_is_claimed_while_a_destination_rests_and_all_of_it_afterwards(
    app: Todoke, clock: Clock, provider: Provider
) -> None:
    """OB-15, ID-6: the first two failures cost an attempt, the one that opens it does not."""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP)
    def charge(event: Noted) -> None:
        provider.charge(event.order_id)

    publish(app, *orders(20))
    drain(app)
    assert (len(provider.asked), is_open(app)) == (3, True)
    clock.advance("29s")
    assert (drain(app)["claimed"], len(provider.asked)) == (0, 3)
    clock.advance("1s")
    assert (drain(app)["claimed"], len(provider.asked)) == (1, 4)
    provider.is_down = False
    clock.advance("30s")
    drain(app)
    clock.advance("30s")
    drain(app)
    assert (sorted(provider.served), is_open(app)) == (list(range(20)), False)
    assert letters(app) == []
    # Events and deliveries: the events were landed at their first attempt.
    assert sorted(attempts for _, attempts in statuses(app)) == [1] * 38 + [2] * 2


def test_with_one_attempt_only_failures_before_it_opens_make_dead_letters(
    app: Todoke, clock: Clock, provider: Provider
) -> None:
    """OB-15, ID-6: the third failure opens it, so of 20 the first two may die, and no other."""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP, retry=Backoff(attempts=1))
    def charge(event: Noted) -> None:
        provider.charge(event.order_id)

    publish(app, *orders(20))
    for pause in ("0s", "30s", "30s", "30s"):
        clock.advance(pause)
        app.drain()
    assert (len(provider.asked), len(letters(app))) == (6, 2)
    provider.is_down = False
    for pause in ("30s", "10m"):
        clock.advance(pause)
        app.drain()
    assert (len(provider.served), len(letters(app))) == (18, 2)


def test_one_message_that_always_fails_does_not_keep_the_others_from_trying(
    app: Todoke, clock: Clock, provider: Provider
) -> None:
    """OB-15: nor does it live for ever; whenever the breaker is closed its failures count."""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP)
    def charge(event: Noted) -> None:
        if event.order_id in (0, 1, 2):
            raise TransientError("this one is wrong, and nobody knows")
        provider.charge(event.order_id)

    publish(app, *orders(20))
    drain(app)
    assert is_open(app)
    provider.is_down = False
    for number in range(20, 40):
        publish(app, Noted(order_id=number))
        clock.advance("30s")
        drain(app)
    clock.advance("5m")
    drain(app)
    assert sorted(provider.served) == list(range(3, 40))
    assert len(letters(app)) == 3


def test_a_permanent_failure_does_not_open_a_breaker(app: Todoke, provider: Provider) -> None:
    """OB-15, ER-1"""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP)
    def charge(event: Noted) -> None:
        provider.asked.append(event.order_id)
        raise PermanentError("no such card")

    publish(app, *orders(10))
    drain(app)
    assert (len(provider.asked), len(letters(app)), is_open(app)) == (10, 10, False)


def test_a_probe_that_snoozes_tells_nothing_and_another_tries(
    app: Todoke, clock: Clock, provider: Provider
) -> None:
    """OB-15"""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP)
    def charge(event: Noted, attempt: Attempt) -> Outcome | None:
        if event.order_id == 3 and provider.asked.count(3) < 1:
            provider.asked.append(3)
            return Snooze("5m")
        provider.charge(event.order_id)
        return None

    publish(app, *orders(6))
    for pause in ("0s", "30s"):
        clock.advance(pause)
        drain(app)
    assert is_open(app)
    assert letters(app) == []
    provider.is_down = False
    for pause in ("30s", "2m", "10m"):
        clock.advance(pause)
        drain(app)
    assert sorted(provider.served) == list(range(6))


def test_order_is_kept_through_an_outage(app: Todoke, clock: Clock, provider: Provider) -> None:
    """OB-9, OB-15"""
    seen: list[int] = []

    @app.on(Placed, limit=Limit(4), breaker=Breaker("psp", failures=1, rest="30s"))
    def charge(event: Placed) -> None:
        provider.charge(event.order_id)
        seen.append(int(event.note))

    publish(app, *(Placed(order_id=1, note=str(step)) for step in range(12)))
    for _ in range(5):
        drain(app)
        clock.advance("30s")
    provider.is_down = False
    for _ in range(5):
        drain(app)
        clock.advance("5m")
    assert seen == list(range(12))
    assert letters(app) == []


def test_a_call_that_must_be_asked_about_is_not_repeated_because_of_an_outage(
    migrated_url: str, gate: Gate
) -> None:
    """ID-6: on_crash="ask" means that a person decides, also while the breaker is open."""
    psp = Breaker("psp", failures=1, rest="1m")
    with quick_application(migrated_url) as app:

        @app.on(Noted, breaker=psp, on_crash="ask")
        def charge(event: Noted) -> None:
            gate.wait(event.order_id)
            raise TimeoutError("no answer")

        publish(app, *orders(2))
        with worker(app):
            # Both: one that has not begun when the first opens the breaker would wait for its rest.
            until(lambda: len(gate.arrived) == 2)
            gate.open()
            until(lambda: len(letters(app)) == 2)
        assert {letter.code for letter in letters(app)} == {"OUTCOME_UNKNOWN"}


def test_calls_that_have_not_begun_are_handed_back_and_delivered_later(
    migrated_url: str, gate: Gate, provider: Provider
) -> None:
    """OB-15: claimed ahead, not called while it rests, and no attempt lost."""
    psp = Breaker("psp", failures=2, rest="300ms")
    settings = {"worker.threads": 2, "worker.queues.default": 20}
    with quick_application(migrated_url, **settings) as app:
        seen: list[tuple[int, int]] = []

        @app.on(Noted, breaker=psp, retry=Backoff("10ms", attempts=2))
        def charge(event: Noted, attempt: Attempt) -> None:
            if provider.is_down:
                gate.wait(event.order_id)
                threading.Event().wait(0.02)
            provider.charge(event.order_id)
            seen.append((event.order_id, attempt.number))

        publish(app, *orders(40))
        with worker(app) as (runtime, _):
            until(lambda: len(gate.arrived) == 2)
            # Events are claimed too: all are landed before claims are counted.
            until(lambda: runtime.counts["processed"] == 40)
            gate.open()
            until(lambda: is_open(app))
            until(lambda: runtime.counts["handed_back"] > 0)
            asked = len(provider.asked)
            claimed = runtime.counts["claimed"]
            until(lambda: len(provider.asked) > asked)
            assert runtime.counts["claimed"] <= claimed + 1, "only the probe"
            provider.is_down = False
            until(lambda: len(seen) == 40, 30)
            until(lambda: {status for status, _ in statuses(app)} == {"PROCESSED"})
        assert letters(app) == []
        assert max(number for _, number in seen) <= 2


def test_two_workers_rest_together_and_go_on_together(
    migrated_url: str, provider: Provider
) -> None:
    """OB-15, ID-6: while it rests, both try no more than one call for each rest."""
    psp = Breaker("psp", failures=2, rest="500ms")
    with quick_application(migrated_url) as app:

        @app.on(Noted, limit=Limit(2), breaker=psp)
        def charge(event: Noted) -> None:
            provider.charge(event.order_id)

        with worker(app), worker(app):
            publish(app, *orders(60))
            until(lambda: is_open(app))
            until(lambda: len(provider.asked) >= 8, 30)
            assert len(provider.asked) <= 12
            provider.is_down = False
            until(lambda: len(set(provider.served)) == 60, 60)
        assert letters(app) == []


def test_what_a_dead_process_held_waits_like_the_others_while_the_destination_rests(
    app: Todoke, clock: Clock, provider: Provider
) -> None:
    """OB-7, OB-15"""

    @app.on(Noted, limit=ONE_BY_ONE, breaker=PSP, retry=Backoff("40s"))
    def charge(event: Noted) -> None:
        provider.charge(event.order_id)

    publish(app, *orders(8))
    drain(app)
    live = app.inbox_table.live
    with app.engine.begin() as connection:
        connection.execute(update(live).where(live.c.state == "ready").values(state="suspect"))
    assert drain(app)["claimed"] == 0
    provider.is_down = False
    for pause in ("1m", "10m"):
        clock.advance(pause)
        drain(app)
    assert sorted(provider.served) == list(range(8))
    assert letters(app) == []
