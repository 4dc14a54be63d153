"""What a process counts: each message once for what really became of it."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped, letters, publish
from tests.dying import death_at
from tests.telemetry.figures import figures
from todoke import PermanentError, Retry, Skip, Snooze, Todoke, TransientError
from todoke.runtime import Runtime
from todoke.telemetry import MOST_CODES
from todoke.testing import Clock


def test_what_is_published_and_processed_is_counted_by_type_and_handler(app: Todoke) -> None:
    """ID-9"""

    @app.on(Placed)
    def note(event: Placed) -> None:
        pass

    @app.on(Shipped)
    async def thank(event: Shipped) -> Skip | None:
        return Skip("no address") if event.order_id else None

    publish(app, Placed(order_id=1), Placed(order_id=2), Shipped(), Shipped(order_id=1))
    assert figures(app) == {("enqueued", "placed"): 2, ("enqueued", "shipped"): 2}
    app.drain()
    assert figures(app) == {
        ("enqueued", "placed"): 2,
        ("enqueued", "shipped"): 2,
        ("sent", "placed", "note"): 2,
        ("sent", "shipped", "thank"): 2,
    }


def test_what_a_session_handler_settled_is_counted_once(app: Todoke) -> None:
    """ID-9: its settlement is in its own transaction; what it publishes is counted as well."""

    @app.on(Placed)
    def note(event: Placed, session: Session) -> None:
        app.publish(session, Shipped())

    @app.on(Shipped)
    def thank(event: Shipped) -> None:
        pass

    publish(app, Placed(order_id=1), Placed(order_id=2))
    app.drain()
    assert figures(app) == {
        ("enqueued", "placed"): 2,
        ("enqueued", "shipped"): 2,
        ("sent", "placed", "note"): 2,
        ("sent", "shipped", "thank"): 2,
    }


def test_an_event_of_several_handlers_is_sent_once_to_each(app: Todoke) -> None:
    """ID-9: becoming deliveries is no sending."""

    @app.on(Placed)
    def note(event: Placed) -> None:
        pass

    @app.on(Placed)
    def thank(event: Placed) -> None:
        raise PermanentError("no")

    publish(app, Placed(order_id=1))
    app.drain()
    assert figures(app) == {
        ("enqueued", "placed"): 1,
        ("sent", "placed", "note"): 1,
        ("aborted", "placed", "thank", "PERMANENT_ERROR"): 1,
    }


def test_failures_are_counted_by_their_code_until_the_message_is_aborted(
    app: Todoke, clock: Clock
) -> None:
    """ID-9: three attempts are two failures and a death."""

    @app.on(Placed, retry="mail")
    def note(event: Placed) -> None:
        raise TransientError("down", code="SMTP_DOWN")

    publish(app, Placed(order_id=1))
    for _ in range(3):
        app.drain()
        clock.advance("2m")
    assert figures(app) == {
        ("enqueued", "placed"): 1,
        ("failed", "placed", "note", "SMTP_DOWN"): 2,
        ("aborted", "placed", "note", "SMTP_DOWN"): 1,
    }


def test_waiting_is_no_failure(on_sqlite: Todoke, clock: Clock) -> None:
    """ID-9: a snooze and a handler that lives elsewhere cost no attempt; a wished retry does."""
    answers: list[Snooze | Retry | None] = [Snooze("1m"), Retry(after="1m", code="BUSY"), None]

    @on_sqlite.on(Placed)
    def note(event: Placed) -> Snooze | Retry | None:
        return answers.pop(0)

    publish(on_sqlite, Placed(order_id=1))
    for _ in range(3):
        on_sqlite.drain()
        clock.advance("5m")
    assert figures(on_sqlite) == {
        ("enqueued", "placed"): 1,
        ("failed", "placed", "note", "BUSY"): 1,
        ("sent", "placed", "note"): 1,
    }


def test_a_late_finisher_is_not_counted_as_sent(app: Todoke, clock: Clock) -> None:
    """ID-9, OB-5: another attempt owns the message by now, and is counted itself."""
    seen: list[int] = []

    @app.on(Placed)
    def note(event: Placed) -> None:
        seen.append(event.order_id)
        if len(seen) == 1:
            clock.advance("1h")  # its lease runs out meanwhile
            app.drain()

    publish(app, Placed(order_id=1))
    Runtime(app).drain()
    assert len(seen) == 2
    assert figures(app) == {("enqueued", "placed"): 1, ("sent", "placed", "note"): 1}


def test_error_codes_that_never_end_are_counted_together(on_sqlite: Todoke) -> None:
    """ID-9: a code with an order's number in it must not grow the counters for ever."""

    @on_sqlite.on(Shipped)
    def note(event: Shipped) -> None:
        raise PermanentError("no", code=f"ORDER_{event.order_id}")

    publish(on_sqlite, *[Shipped(order_id=number) for number in range(MOST_CODES + 20)])
    on_sqlite.drain()
    aborted = {key[-1]: total for key, total in figures(on_sqlite).items() if key[0] == "aborted"}
    assert (len(aborted), aborted["OTHER"]) == (MOST_CODES + 1, 20)
    assert len(letters(on_sqlite)) == 50, "the first page of them"


@pytest.mark.parametrize("ends", ["rolls back", "rolls back to a savepoint", "commits"])
def test_what_is_rolled_back_is_not_counted_as_enqueued(app: Todoke, ends: str) -> None:
    """ID-9: neither with its transaction nor with a savepoint, on a Session and on a Connection."""
    with Session(app.engine) as session, session.begin() as transaction:
        app.publish(session, Placed(order_id=1))
        with session.begin_nested() as savepoint:
            app.publish(session, Shipped())
            session.flush()
            if ends == "rolls back to a savepoint":
                savepoint.rollback()
        if ends == "rolls back":
            transaction.rollback()
    with app.engine.connect() as connection:
        app.publish(connection, Placed(order_id=3))
        with connection.begin_nested() as nested:
            app.publish(connection, Shipped())
            with connection.begin_nested():
                app.publish(connection, Shipped())
            if ends == "rolls back to a savepoint":
                nested.rollback()
        with connection.begin_nested():
            app.publish(connection, Placed(order_id=2))
        connection.rollback() if ends == "rolls back" else connection.commit()
    assert (
        figures(app)
        == {
            "rolls back": {},
            "rolls back to a savepoint": {("enqueued", "placed"): 3},
            "commits": {("enqueued", "placed"): 3, ("enqueued", "shipped"): 3},
        }[ends]
    )


async def test_async_handles_and_drivers_count_as_well(on_sqlite: Todoke, sqlite_copy: str) -> None:
    """ID-9: a driver tells of no commit, so there what was written counts."""
    async with on_sqlite.async_session() as session:
        on_sqlite.publish(session, Placed(order_id=1))
    with closing(sqlite3.connect(sqlite_copy.removeprefix("sqlite:///"))) as connection:
        connection.execute("BEGIN")
        on_sqlite.publish(connection, Placed(order_id=2))
        connection.rollback()
    assert figures(on_sqlite) == {("enqueued", "placed"): 2}
    await on_sqlite.async_engine.dispose()


def test_what_killed_its_worker_for_the_third_time_is_counted_as_aborted(
    app: Todoke, clock: Clock
) -> None:
    """ID-9, CR-2: the rescuer buries it, and no handler has said a word."""

    @app.on(Shipped)
    def note(event: Shipped) -> None:
        pass

    publish(app, Shipped())
    for _ in range(4):  # the first time it was not alone for sure
        with death_at("handler.after_call"):
            app.drain()
        clock.advance("1h")
    app.drain()
    assert figures(app) == {
        ("enqueued", "shipped"): 1,
        ("aborted", "shipped", "note", "CRASHED"): 1,
    }
