"""Each key's events arrive in the order they were published in; other keys do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.application import leases, letters, publish, register, rows, statuses
from tests.order.walks import (
    WAYS,
    Journal,
    Walked,
    barriers,
    later,
    listen,
    redrive,
    states,
    steps,
)
from tests.waiting import until
from tests.work.running import Gate, quick_application, worker
from todoke import PermanentError, Todoke, TransientError
from todoke.runtime import Runtime
from todoke.testing import Clock


@pytest.mark.parametrize("way", WAYS)
def test_each_keys_events_arrive_in_the_order_of_publishing(
    app: Todoke, journal: Journal, way: str
) -> None:
    """OB-9"""
    listen(app, journal, way)
    for step in range(12):
        publish(app, *(Walked(walker=walker, step=step) for walker in "abc"))
    app.drain()
    assert {walker: journal.of(walker) for walker in "abc"} == {key: [*range(12)] for key in "abc"}
    assert statuses(app) == [("PROCESSED", 1)] * 36


def test_a_transactions_events_keep_the_order_they_were_given_in(
    app: Todoke, journal: Journal
) -> None:
    """OB-9"""
    listen(app, journal)
    with app.session() as session:
        for step in (3, 1, 2):
            app.publish(session, Walked(walker="a", step=step))
        app.publish_all(session, steps("a", 6, 5))
    app.drain()
    assert journal.of("a") == [3, 1, 2, 6, 5]


def test_more_of_one_key_than_a_claim_takes_keep_their_order(app: Todoke, journal: Journal) -> None:
    """OB-9"""
    listen(app, journal)
    publish(app, *steps("a", *range(250)))
    app.drain()
    assert journal.of("a") == [*range(250)]


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def test_other_keys_run_in_parallel_and_the_same_key_does_not(
    migrated_url: str, gate: Gate
) -> None:
    """OB-9 OB-8"""
    done: list[tuple[str, int]] = []
    with quick_application(migrated_url) as app:

        @app.on(Walked)
        def note(event: Walked) -> None:
            if event.walker == "slow":
                gate.wait(event.step)
            done.append((event.walker, event.step))

        with worker(app):
            publish(app, *steps("slow", 1, 2))
            until(lambda: gate.arrived)
            publish(app, *steps("quick", 1, 2))
            until(lambda: done == [("quick", 1), ("quick", 2)])
            assert gate.arrived == [1]
            gate.open()
            until(lambda: len(done) == 4)
        assert done[2:] == [("slow", 1), ("slow", 2)]


def test_coroutines_of_one_key_do_not_overlap(migrated_url: str) -> None:
    """OB-9"""
    inside: list[int] = []
    most: list[int] = []
    with quick_application(migrated_url) as app:

        @app.on(Walked)
        async def note(event: Walked) -> None:
            inside.append(event.step)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.remove(event.step)

        with worker(app):
            publish(app, *steps("a", *range(20)))
            until(lambda: len(most) == 20)
    assert set(most) == {1}


def test_a_delayed_event_gives_up_its_place(app: Todoke, journal: Journal, clock: Clock) -> None:
    """OB-9 OB-2: nobody waits until it is due"""
    listen(app, journal)
    publish(app, *steps("a", 1))
    publish(app, *steps("a", 2), delay="1m")
    publish(app, *steps("a", 3))
    app.drain()
    assert journal.of("a") == [1, 3]
    later(app, clock, "1m")
    assert journal.of("a") == [1, 3, 2]


def test_a_delayed_event_that_fails_holds_nobody(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9"""
    listen(app, journal)
    journal.answer("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1), delay="1m")
    later(app, clock, "1m")
    publish(app, *steps("a", 2))
    app.drain()
    assert (journal.of("a"), barriers(app), len(letters(app))) == ([2], [], 1)


def test_each_handler_has_its_own_order_and_its_own_waiting(app: Todoke, clock: Clock) -> None:
    """OB-9 OB-8: what one handler cannot do yet does not hold the other"""
    mail, count = Journal(), Journal()
    listen(app, mail, name="mail")
    listen(app, count, name="count")
    mail.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    assert (mail.of("a"), count.of("a")) == ([], [1, 2, 3])
    publish(app, *steps("a", 4))
    later(app, clock)
    assert (mail.of("a"), count.of("a")) == ([1, 2, 3, 4], [1, 2, 3, 4])


def test_each_handler_has_its_own_parking(app: Todoke) -> None:
    """OB-9 ER-3: one handler's dead letter does not hold the other"""
    mail, count = Journal(), Journal()
    listen(app, mail, name="mail")
    listen(app, count, name="count")
    mail.always("a", 2, PermanentError("no such address"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    assert (mail.of("a"), count.of("a")) == ([1], [1, 2, 3])
    assert [(one.name, one.source) for one in letters(app)] == [("mail", "delivery")]
    held = rows(app, app.inbox_table.live)
    assert [(row.handler, row.state) for row in held] == [("mail", "held")]
    assert states(app) == []


def test_keys_of_different_aggregates_do_not_wait_for_each_other(
    app: Todoke, journal: Journal
) -> None:
    """OB-9"""

    class Ran(Walked, aggregate="run"):
        pass

    listen(app, journal)
    listen(app, journal, kind=Ran, name="note-runs")
    journal.answer("a", 1, TransientError("busy"))
    publish(app, Walked(walker="a", step=1), Ran(walker="a", step=2))
    app.drain()
    assert journal.of("a") == [2]


@pytest.mark.parametrize(
    "answer", [TransientError("busy"), PermanentError("no")], ids=["waits", "parked"]
)
def test_what_could_be_handled_in_place_does_not_overtake_deliveries(
    app: Todoke, journal: Journal, clock: Clock, answer: Exception
) -> None:
    """OB-9 OB-10: the event before it went to several handlers, one of which is gone"""
    listen(app, journal)
    journal.answer("a", 1, answer)
    register(app, 15, walked=["count"])
    publish(app, *steps("a", 1))
    Runtime(app, leases=leases(app)).drain()
    assert {row.handler for row in rows(app, app.inbox_table.live)} | {
        one.name for one in letters(app)
    } == {"note", "count"}
    clock.advance("16s")
    publish(app, *steps("a", 2))
    Runtime(app, leases=leases(app)).drain()
    if isinstance(answer, PermanentError):
        assert journal.seen == []
        redrive(app)
    later(app, clock)
    assert journal.of("a") == [1, 2]
