"""An orderly end: no more claims, what runs may finish, the rest is handed back uncounted."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish, statuses
from tests.waiting import until
from tests.work.running import Gate, quick_application
from todoke import Todoke, crash
from todoke.runtime import Runtime
from todoke.work.process import Ending


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with quick_application(migrated_url, **{"worker.threads": 1}) as app:
        yield app


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def handed_back(app: Todoke) -> list[tuple[str, bool, int]]:
    return [(row.state, row.owner is None, row.attempt - row.spared) for row in living(app)]


def test_what_was_not_begun_is_handed_back_and_what_runs_may_finish(
    app: Todoke, gate: Gate
) -> None:
    """OB-7"""

    @app.on(Placed)
    def wait(event: Placed) -> None:
        gate.wait(event.order_id)

    process = Runtime(app).start()
    publish(app, *(Placed(order_id=n) for n in range(4)))
    until(lambda: gate.arrived)
    until(lambda: all(row.owner for row in living(app)))
    threading.Timer(0.2, gate.open).start()
    ending = process.stop(10)
    assert ending == Ending(handed_back=False, recycle=False)
    assert gate.arrived == [0]
    assert handed_back(app) == [("ready", True, 0)] * 3


def test_what_takes_longer_than_the_drain_time_is_handed_back(app: Todoke, gate: Gate) -> None:
    """OB-7"""

    @app.on(Placed)
    def wait(event: Placed) -> None:
        gate.wait()

    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    until(lambda: gate.arrived)
    assert process.stop(0.1).handed_back
    assert handed_back(app) == [("ready", True, 0)]


def test_what_was_handed_back_can_no_longer_write(app: Todoke, gate: Gate) -> None:
    """OB-7"""
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE sales (n INTEGER)"))

    @app.on(Placed)
    def sell(event: Placed, session: Session) -> None:
        session.execute(text("INSERT INTO sales VALUES (1)"))
        gate.wait()

    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    until(lambda: gate.arrived)
    process.stop(0.1)
    gate.open()
    assert handed_back(app) == [("ready", True, 0)]
    with app.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM sales")).scalar_one() == 0


def test_an_async_handler_with_a_session_is_handed_back_too(app: Todoke) -> None:
    """OB-7"""
    arrived = threading.Event()

    @app.on(Placed)
    async def wait(event: Placed, session: AsyncSession) -> None:
        await session.execute(text("SELECT 1"))
        arrived.set()
        await asyncio.Event().wait()

    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    assert arrived.wait(10)
    assert process.stop(0.1).handed_back
    assert handed_back(app) == [("ready", True, 0)]


def test_what_had_begun_and_asks_becomes_a_question(app: Todoke, gate: Gate) -> None:
    """OB-7 SH-4: another worker must not simply do it again"""

    @app.on(Placed, on_crash="ask")
    def mail(event: Placed) -> None:
        gate.wait()

    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    until(lambda: gate.arrived)
    process.stop(0.1)
    assert [one.code for one in letters(app)] == ["OUTCOME_UNKNOWN"]


def test_a_second_signal_does_not_wait_for_handlers(app: Todoke, gate: Gate) -> None:
    """OB-7"""

    @app.on(Placed)
    def wait(event: Placed) -> None:
        gate.wait()

    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    until(lambda: gate.arrived)
    threading.Timer(0.1, process.hurry).start()
    assert process.stop(60).handed_back


def test_what_was_being_claimed_when_the_worker_was_stopped_is_handed_back(
    app: Todoke, gate: Gate
) -> None:
    """OB-7: nothing was in hand when it was asked whether something is"""

    @app.on(Placed)
    def wait(event: Placed) -> None:
        gate.wait()

    claimed = threading.Event()

    def passage(name: str) -> None:
        if name == "claim.after_commit" and any(row.owner for row in living(app)):
            claimed.set()
            until(process._work._stopping.is_set)

    before = crash.arm(passage)
    try:
        process = Runtime(app).start()
        publish(app, Placed(order_id=1))
        until(claimed.is_set)
        assert process.stop(10).handed_back
    finally:
        crash.arm(before)
    assert handed_back(app) == [("ready", True, 0)]


def test_an_idle_worker_ends_at_once(app: Todoke) -> None:
    """OB-7"""
    process = Runtime(app).start()
    assert process.stop(10) == Ending(handed_back=False, recycle=False)


def test_no_thread_of_ours_stays_behind(app: Todoke) -> None:
    """OB-7"""

    @app.on(Placed)
    def note(event: Placed) -> None: ...

    before = set(threading.enumerate())
    process = Runtime(app).start()
    publish(app, Placed(order_id=1))
    until(lambda: statuses(app) == [("PROCESSED", 1)])
    process.stop(10)
    app.bell.close()
    until(lambda: set(threading.enumerate()) <= before)
