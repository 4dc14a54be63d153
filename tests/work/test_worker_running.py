"""A worker in its own threads: claims, handles, settles, and outlives a handler that hangs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish, register, statuses
from tests.waiting import until
from tests.work.running import Gate, quick_application, worker
from todoke import Attempt, Backoff, Todoke


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with quick_application(migrated_url) as app:
        yield app


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def test_what_is_published_is_delivered_while_it_runs(app: Todoke) -> None:
    """OB-4 OB-5"""
    seen: list[int] = []

    @app.on(Placed, name="plain")
    def plain(event: Placed) -> None:
        seen.append(event.order_id)

    @app.on(Placed, name="awaited")
    async def awaited(event: Placed) -> None:
        seen.append(event.order_id)

    with worker(app):
        publish(app, *(Placed(order_id=n) for n in range(20)))
        until(lambda: len(seen) == 40)
    assert sorted(seen) == sorted([*range(20), *range(20)])


def test_a_slow_handler_delays_no_neighbour(app: Todoke, gate: Gate) -> None:
    """OB-8"""
    seen: list[int] = []

    @app.on(Placed)
    def handle(event: Placed) -> None:
        if event.order_id == 0:
            gate.wait()
        seen.append(event.order_id)

    with worker(app):
        publish(app, *(Placed(order_id=n) for n in range(10)))
        until(lambda: len(seen) == 9)
        until(lambda: len(living(app)) == 1)
        gate.open()
        until(lambda: not living(app))


def test_an_answer_is_settled_while_the_next_call_runs(migrated_url: str, gate: Gate) -> None:
    """OB-8: not only at the next poll"""
    slow_to_look = {"outbox.poll": "60s", "worker.threads": 1}
    with quick_application(migrated_url, **slow_to_look) as app:
        gates = [Gate(), gate]

        @app.on(Placed)
        def handle(event: Placed) -> None:
            gates[event.order_id].wait()

        publish(app, Placed(order_id=0), Placed(order_id=1))
        with worker(app):
            until(lambda: gates[0].arrived)
            some_polls_go_by()
            gates[0].open()
            until(lambda: [row.key for row in living(app)] == ["1"])
            gate.open()


def test_calls_that_come_one_by_one_run_beside_each_other(app: Todoke, gate: Gate) -> None:
    """OB-8"""

    @app.on(Placed)
    def handle(event: Placed) -> None:
        gate.wait(event.order_id)

    with worker(app):
        for order in range(3):
            publish(app, Placed(order_id=order))
            until(partial(gate.arrived.__contains__, order))
        gate.open()


def test_a_hung_handler_is_given_up_and_tried_again(app: Todoke, gate: Gate) -> None:
    """OB-7 ER-1"""
    seen: list[int] = []

    @app.on(Placed, timeout="200ms", retry=Backoff("10ms"))
    def hang(event: Placed) -> None:
        seen.append(1)
        if len(seen) == 1:
            gate.wait()

    with worker(app) as (runtime, process):
        publish(app, Placed(order_id=1))
        until(lambda: statuses(app) == [("PROCESSED", 2)])
        assert (runtime.counts["hung"], process.wants_recycling) == (1, True)


def test_a_handler_that_hangs_every_time_dies_of_it(app: Todoke, gate: Gate) -> None:
    """OB-7 ER-1 ER-3"""

    @app.on(Placed, name="hang", timeout="100ms", retry=Backoff("10ms"))
    def hang(event: Placed) -> None:
        gate.wait()

    with worker(app):
        publish(app, Placed(order_id=1))
        until(lambda: letters(app))
    (letter,) = letters(app)
    assert (letter.error_class, letter.code, letter.attempts) == ("timeout", "TIMEOUT", 2)
    assert "did not end within 0.1 s and was given up" in letter.message


def test_a_late_commit_of_a_hung_handler_writes_nothing(app: Todoke, gate: Gate) -> None:
    """OB-7"""
    late: list[BaseException | None] = []
    again, ended = threading.Event(), threading.Event()
    make_impatient(app)
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE sales (n INTEGER)"))

    @app.on(Placed, timeout="1s", retry=Backoff("10ms", attempts=9))
    def hang(event: Placed, session: Session) -> None:
        first = not gate.arrived
        session.execute(text(f"INSERT INTO sales VALUES ({1 if first else 2})"))
        if not first:
            again.set()
            return
        gate.wait()
        try:
            session.execute(text("INSERT INTO sales VALUES (3)"))
            late.append(None)
        except Exception as error:
            late.append(error)
            raise
        finally:
            ended.set()

    publish(app, Placed(order_id=1))
    with worker(app):
        assert again.wait(30)
        gate.open()
        assert ended.wait(10)
    with app.engine.connect() as connection:
        assert list(connection.execute(text("SELECT n FROM sales")).scalars()) == [2]
    assert statuses(app) == [("PROCESSED", 2)]
    assert isinstance(late[0], Exception)


def make_impatient(app: Todoke) -> None:
    """On SQLite the hung handler holds the only write lock, which a tick waits for."""

    def hurry(driver: Any, _record: object) -> None:
        driver.execute("PRAGMA busy_timeout=200")

    if app.database.kind == "sqlite":
        app.engine.dispose()
        event.listen(app.engine, "connect", hurry)


def test_an_async_handler_is_interrupted_at_its_limit(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed, timeout="100ms", retry=Backoff(attempts=1))
    async def wait(event: Placed) -> None:
        await asyncio.Event().wait()

    with worker(app) as (_, process):
        publish(app, Placed(order_id=1))
        until(lambda: letters(app))
        assert not process.wants_recycling
    (letter,) = letters(app)
    assert (letter.error_class, letter.attempts) == ("timeout", 1)


def test_a_suspect_runs_with_nothing_beside_it_however_long_it_takes(
    app: Todoke, gate: Gate
) -> None:
    """OB-7"""
    seen: list[int] = []

    @app.on(Placed)
    def handle(event: Placed) -> None:
        if event.order_id == 1:
            gate.wait()
        seen.append(event.order_id)

    publish(app, Placed(order_id=1))
    with app.engine.begin() as connection:
        connection.execute(app.outbox_table.live.update().values(state="suspect"))
    with worker(app) as (runtime, _):
        until(lambda: gate.arrived)
        publish(app, Placed(order_id=2))
        some_polls_go_by()
        assert (seen, runtime.counts["claimed"]) == ([], 1)
        gate.open()
        until(lambda: seen == [1, 2])


def some_polls_go_by() -> None:
    threading.Event().wait(0.3)


def test_an_attempt_can_ask_whether_it_still_may_write(app: Todoke, gate: Gate) -> None:
    """OB-7 api 3.11"""
    told: list[str] = []
    ended = threading.Event()

    @app.on(Placed, timeout="100ms", retry=Backoff(attempts=1))
    def long(event: Placed, attempt: Attempt) -> None:
        attempt.check()
        gate.wait()
        try:
            attempt.check()
        except Exception as error:
            told.append(str(error))
        ended.set()

    with worker(app):
        publish(app, Placed(order_id=1))
        until(lambda: letters(app))
        gate.open()
        assert ended.wait(10)
    assert "no longer owns it, so nothing was written" in told[0]


def test_a_worker_is_among_the_living_and_leaves_in_order(app: Todoke) -> None:
    """OB-7"""
    with worker(app), app.session() as session:
        assert len(app.events.status(session).workers) == 1
    with app.session() as session:
        assert app.events.status(session).workers == []


def test_it_rescues_what_another_left_behind(app: Todoke) -> None:
    """OB-7"""

    @app.on(Placed)
    def note(event: Placed) -> None: ...

    publish(app, Placed(order_id=1))
    gone = register(app, seconds=0)
    with app.engine.connect() as connection:
        app.claims[0].take(connection, gone, "default", 1)
    with worker(app):
        until(lambda: statuses(app) == [("PROCESSED", 1)])
