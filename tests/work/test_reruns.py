"""What passes by itself is run again, and costs no attempt."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.application import Noted, Placed, application, history, publish, statuses
from tests.waiting import until
from todoke import Todoke, crash
from todoke.runtime import Runtime
from todoke.work.slots import InlineSlots


@pytest.fixture
def app(postgres_copy: str) -> Iterator[Todoke]:
    with application(postgres_copy) as app:
        yield app


def test_a_deadlock_is_run_again_and_costs_no_attempt(app: Todoke) -> None:
    """design 8 ER-1"""
    both_hold_one = threading.Barrier(2, timeout=30)
    runs: list[int] = []

    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE stock (id INTEGER PRIMARY KEY, n INTEGER)"))
        connection.execute(text("INSERT INTO stock VALUES (1, 0), (2, 0)"))

    @app.on(Noted)
    def count(event: Noted, session: Session) -> None:
        runs.append(event.order_id)
        first, second = (1, 2) if event.order_id == 1 else (2, 1)
        session.execute(text(f"UPDATE stock SET n = n + 1 WHERE id = {first}"))
        if len(runs) <= 2:
            both_hold_one.wait()
        session.execute(text(f"UPDATE stock SET n = n + 1 WHERE id = {second}"))

    publish(app, Noted(order_id=1))
    together = threading.Thread(target=app.drain)
    together.start()
    until(lambda: runs)
    publish(app, Noted(order_id=2))
    app.drain()
    together.join()
    assert (len(runs), statuses(app)) == (3, [("PROCESSED", 1), ("PROCESSED", 1)])


def test_a_serialisation_failure_is_run_again_and_costs_no_attempt(
    app: Todoke,
) -> None:
    """design 8 ER-1"""
    runs: list[int] = []
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE sales (n INTEGER)"))

    @app.on(Placed)
    def sell_once(event: Placed, session: Session) -> None:
        runs.append(1)
        session.execute(text("INSERT INTO sales VALUES (1)"))
        if len(runs) == 1:
            session.execute(text("DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$"))

    publish(app, Placed(order_id=1))
    app.drain()
    with app.engine.connect() as connection:
        sold = connection.execute(text("SELECT count(*) FROM sales")).scalar_one()
    assert (runs, sold, statuses(app)) == ([1, 1], 1, [("PROCESSED", 1)])


def test_a_lost_connection_is_run_again_and_costs_no_attempt(app: Todoke) -> None:
    """design 8 ER-1"""
    runs: list[int] = []

    @app.on(Placed)
    def lose(event: Placed, session: Session) -> None:
        runs.append(1)
        if len(runs) == 1:
            session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))

    publish(app, Placed(order_id=1))
    app.drain()
    assert (len(runs), statuses(app)) == (2, [("PROCESSED", 1)])
    assert len(history(app)) == 1


def test_a_connection_that_is_lost_before_the_call_costs_no_attempt(app: Todoke) -> None:
    """design 8 ER-1: while it is marked that a person will have to be asked"""
    runs: list[int] = []

    @event.listens_for(app.engine, "before_cursor_execute")
    def lose_once(_on: Connection, cursor: Any, statement: str, *_rest: Any) -> None:
        if "started=" in statement and not lost:
            lost.append(statement)
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    @app.on(Placed, on_crash="ask")
    def send(event: Placed) -> None:
        runs.append(1)

    lost: list[str] = []
    publish(app, Placed(order_id=1))
    with app.agents_engine.connect() as connection:
        runtime = Runtime(app)
        worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
        runtime.membership.join(connection)
        until(lambda: worker.tick(connection) and worker.idle)
    assert (len(lost), runs, statuses(app)) == (1, [1], [("PROCESSED", 1)])


def test_a_cancelled_statement_is_a_failure_like_any_other(app: Todoke) -> None:
    """ER-1: a statement that is too slow once will be so again"""
    runs: list[int] = []

    @app.on(Placed)
    def slow(event: Placed, session: Session) -> None:
        runs.append(1)
        session.execute(text("SET LOCAL statement_timeout = 1"))
        session.execute(text("SELECT pg_sleep(10)"))

    publish(app, Placed(order_id=1))
    app.drain()
    assert (len(runs), statuses(app)) == (1, [("PENDING", 1)])


@pytest.mark.parametrize("kind", [Placed, Noted])
def test_a_claim_whose_reply_was_lost_is_freed_by_the_next_round(
    app: Todoke, kind: type[Placed | Noted]
) -> None:
    """OB-4 OB-6: the process lives on, so nobody else would return what it took"""
    seen: list[int] = []

    @app.on(kind)
    def note(event: Placed | Noted) -> None:
        seen.append(event.order_id)

    publish(app, kind(order_id=1))
    runtime = Runtime(app)
    worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
    with app.engine.connect() as connection:
        runtime.membership.join(connection)
        with reply_lost(app, connection), pytest.raises(OperationalError):
            worker.tick(connection)
    assert statuses(app) == [("PROCESSING", 1)]
    with app.engine.connect() as connection:
        worker.tick(connection)
        worker.tick(connection)
    assert (seen, statuses(app)) == ([1], [("PROCESSED", 1)])


@contextmanager
def reply_lost(app: Todoke, connection: Connection) -> Iterator[None]:
    """The server commits the claim, and the line breaks before its answer arrives."""

    def break_the_line(point: str) -> None:
        if point == "claim.after_commit" and statuses(app) == [("PROCESSING", 1)]:
            connection.invalidate()
            broken = Exception("the line broke")
            raise OperationalError("UPDATE", None, broken, connection_invalidated=True)

    before = crash.arm(break_the_line)
    try:
        yield
    finally:
        crash.arm(before)
