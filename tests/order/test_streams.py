"""Which worker serves what: contexts and queues."""

from __future__ import annotations

import pytest

from tests.application import application, letters, living, publish, rows
from tests.order.walks import Journal, Walked, later, listen, steps
from todoke import Context, Event, PermanentError, Todoke, TransientError
from todoke.testing import Clock


class Paid(Walked, context="billing"):
    """Belongs to another context than the application's."""


class Waved(Event, ordered=False):
    number: int


@pytest.fixture
def billing() -> Context:
    return Context("billing")


def test_a_worker_of_one_context_leaves_the_others_rows_alone(
    migrated_url: str, clock: Clock, journal: Journal
) -> None:
    """OB-11 OB-9"""
    settings: dict[str, object] = {"worker.contexts": ["billing"]}
    with (
        application(migrated_url, clock=clock, settings=settings) as billing_worker,
        application(migrated_url, clock=clock) as everything,
    ):
        for app in (billing_worker, everything):
            billing = Context("billing")
            app.include(billing)
            listen(billing, journal, kind=Paid, name="note-paid")
            listen(app, journal, name="note-walked")
        publish(everything, *steps("a", 1, 2), *steps("b", 1, 2, kind=Paid))
        billing_worker.drain()
        assert journal.seen == [("b", 1), ("b", 2)]
        assert [(row.context, row.state, row.attempt) for row in living(everything)] == [
            ("todoke", "ready", 0)
        ] * 2
        everything.drain()
        assert journal.of("a") == [1, 2]


def test_a_handler_of_a_queue_is_served_only_by_workers_with_that_queue(
    migrated_url: str, clock: Clock, journal: Journal
) -> None:
    """OB-11 OB-9"""
    quick: dict[str, object] = {"worker.queues.default": 4}
    slow: dict[str, object] = {"worker.queues.slow": 1}
    with (
        application(migrated_url, clock=clock, settings=quick) as first,
        application(migrated_url, clock=clock, settings=slow) as second,
    ):
        for app in (first, second):
            listen(app, journal, queue="slow")
        publish(first, *steps("a", 1, 2, 3))
        first.drain()
        assert (journal.seen, living(first)) == ([], [])
        waiting = rows(first, first.inbox_table.live)
        assert [(row.stream, row.state) for row in waiting] == [("todoke/slow", "ready")] * 3
        first.drain()
        assert journal.seen == []
        second.drain()
        assert (journal.of("a"), rows(first, first.inbox_table.live)) == ([1, 2, 3], [])


def test_a_worker_of_another_queue_leaves_the_outbox_alone(
    migrated_url: str, clock: Clock, journal: Journal
) -> None:
    """OB-11"""
    slow: dict[str, object] = {"worker.queues.slow": 1}
    with application(migrated_url, clock=clock, settings=slow) as app:
        listen(app, journal, queue="slow")
        publish(app, *steps("a", 1))
        app.drain()
        assert ([row.state for row in living(app)], journal.seen) == (["ready"], [])


def test_order_is_kept_on_the_way_to_another_queue(
    migrated_url: str, clock: Clock, journal: Journal
) -> None:
    """OB-9: a delivery that is tried again, or dies, holds those behind it"""
    both: dict[str, object] = {"worker.queues.default": 4, "worker.queues.slow": 1}
    with application(migrated_url, clock=clock, settings=both) as app:
        listen(app, journal, queue="slow")
        journal.answer("a", 1, TransientError("busy"))
        journal.answer("b", 1, PermanentError("no"))
        publish(app, *steps("a", 1, 2), *steps("b", 1, 2), *steps("c", 1, 2))
        app.drain()
        assert journal.seen == [("c", 1), ("c", 2)]
        later(app, clock)
        assert (journal.of("a"), journal.of("b")) == ([1, 2], [])
        assert [(one.source, one.key) for one in letters(app)] == [("delivery", "b")]


def test_an_event_of_another_context_is_delivered_in_order(
    app: Todoke, journal: Journal, billing: Context
) -> None:
    """OB-9 OB-11: each handler's delivery stands in its own context's stream"""
    app.include(billing)
    listen(billing, journal)
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    assert journal.of("a") == [1, 2, 3]
    history = rows(app, app.inbox_table.history)
    assert [(row.stream, row.context) for row in history] == [("billing/default", "todoke")] * 3


def test_unordered_events_are_served_by_context_as_well(migrated_url: str, clock: Clock) -> None:
    """OB-11"""
    seen: list[int] = []
    elsewhere: dict[str, object] = {"worker.contexts": "billing"}
    with (
        application(migrated_url, clock=clock, settings=elsewhere) as other,
        application(migrated_url, clock=clock) as app,
    ):
        for one in (other, app):

            @one.on(Waved)
            def note(event: Waved) -> None:
                seen.append(event.number)

        publish(app, Waved(number=1))
        other.drain()
        assert (seen, len(living(app))) == ([], 1)
        app.drain()
        assert (seen, living(app)) == ([1], [])
