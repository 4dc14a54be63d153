"""The database goes away for a moment: the worker waits, and goes on where it was."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from tests.application import Placed, publish, statuses
from tests.servers.postgres import postgres_instance
from tests.waiting import until
from tests.work.running import quick_application, worker
from todoke import Backoff, Todoke


def count_connections(app: Todoke) -> list[Any]:
    tries: list[Any] = []
    event.listen(app.agents_engine, "do_connect", lambda *call: tries.append(call))
    return tries


def test_an_outage_loses_nothing_and_costs_no_attempt(caplog: pytest.LogCaptureFixture) -> None:
    """OB-4 OB-7 design 8"""
    caplog.set_level(logging.ERROR, logger="sqlalchemy")
    seen: list[int] = []
    with postgres_instance() as server, quick_application(server.url()) as app:

        @app.on(Placed, name="plain", retry=Backoff(attempts=1))
        def plain(event: Placed) -> None:
            seen.append(event.order_id)

        @app.on(Placed, name="session", retry=Backoff(attempts=1))
        def in_session(event: Placed, session: Session) -> None:
            if not seen:
                return
            seen.append(event.order_id)

        publish(app, *(Placed(order_id=n) for n in range(200)))
        with worker(app):
            until(lambda: len(seen) > 20)
            server.stop_immediately()
            server.start()
            until(lambda: {status for status, _ in finished(app)} == {"PROCESSED"}, 60)


def finished(app: Todoke) -> list[tuple[str, int]]:
    with app.session() as session:
        found = app.events.list(session, limit=1000)
    return [(one.status, one.attempts) for one in found] if len(found) == 600 else [("?", 0)]


def test_an_outage_is_told_once_and_tried_rarely(caplog: pytest.LogCaptureFixture) -> None:
    """OB-7"""
    with postgres_instance() as server, quick_application(server.url()) as app:

        @app.on(Placed)
        def note(event: Placed) -> None: ...

        tries = count_connections(app)
        with worker(app):
            until(lambda: len(tries) >= 3)
            server.stop()
            before = len(tries)
            until(lambda: "cannot reach the database" in caplog.text)
            until(lambda: len(tries) - before >= 8)
            server.start()
            assert len(tries) - before < 60
            publish(app, Placed(order_id=1))
            until(lambda: statuses(app) == [("PROCESSED", 1)], 30)
            until(lambda: "worker works again" in caplog.text, 30)
    told = [one for one in caplog.messages if "worker cannot reach" in one]
    assert len(told) == 1
