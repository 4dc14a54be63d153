"""Draining a backlog of no-op events: the raw loop over the same tables, and todoke's worker."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeAlias
from uuid import uuid4

import psycopg
from sqlalchemy import make_url, text

from todoke import Event, Key, Settings, Todoke
from todoke.runtime import Runtime

Rate: TypeAlias = float
BATCH = 100


class Measured(Event, context="todoke", aggregate="order", ordered=False):
    """About 200 bytes of JSON, as an order would have."""

    order_id: Key[int]
    number: str = "ORD-2026-000001"
    customer: str = "customer@example.com"
    total: int = 4980
    lines: tuple[str, ...] = ("apple", "pear", "plum", "peach", "quince")


class Ordered(Measured, ordered=True):
    """The same, in order."""


@contextmanager
def prepared(
    url: str, events: int, kind: type[Measured] = Measured, keys: int | None = None
) -> Iterator[Todoke]:
    """Fresh tables with a backlog, analysed, so that every variant meets the same."""
    settings = Settings({"outbox.batch": BATCH}, environment={})
    app = Todoke(url, settings=settings)
    with app.engine.begin() as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS todoke CASCADE"))
    app.migrate()
    with app.session() as session:
        numbers = (number % (keys or events) for number in range(events))
        app.publish_all(session, (kind(order_id=number) for number in numbers))
    with app.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE todoke.outbox"))
        connection.execute(text("CHECKPOINT"))
    try:
        yield app
    finally:
        app.close()


def raw_loop(app: Todoke, events: int) -> Rate:
    """The same claim and settle as todoke's, on a bare psycopg connection, handling nothing."""
    address = make_url(app.url).set(drivername="postgresql")
    with psycopg.connect(address.render_as_string(hide_password=False)) as connection:
        started = perf_counter()
        while ids := _raw_claim(connection):
            _raw_settle(connection, ids)
        return events / (perf_counter() - started)


def _raw_claim(connection: psycopg.Connection) -> list[int]:
    rows = connection.execute(_CLAIM, (_OWNER, BATCH)).fetchall()
    connection.commit()
    return [row[0] for row in rows]


def _raw_settle(connection: psycopg.Connection, ids: list[int]) -> None:
    connection.execute(_SETTLE, (ids, _OWNER))
    connection.commit()


def async_handler(app: Todoke, events: int) -> Rate:
    @app.on(Measured, Ordered)
    async def nothing(event: Measured) -> None:
        pass

    return _drain(app, events)


def thread_handler(app: Todoke, events: int) -> Rate:
    @app.on(Measured)
    def nothing(event: Measured) -> None:
        pass

    return _drain(app, events)


def _drain(app: Todoke, events: int) -> Rate:
    """From the start of the claiming to the last settlement; the process's start is left out."""
    runtime, moment = Runtime(app), threading.Event()
    started = perf_counter()
    process = runtime.start()
    while runtime.counts["processed"] < events:
        moment.wait(0.001)
    taken = perf_counter() - started
    process.stop(5)
    return events / taken


VARIANTS: dict[str, Callable[[Todoke, int], Rate]] = {
    "raw loop, psycopg": raw_loop,
    "todoke, async def": async_handler,
    "todoke, def in threads": thread_handler,
}

_OWNER = uuid4()
_CARRIED = (
    "id, message_id, context, stream, priority, type, version, aggregate, key, ordered, followers, "
    " handler, body, headers, trace_context, key_id, signature, max_attempts, "
    "deliver_before, expires_at, created_at, attempt, spared, crashes, owner, error_class, "
    "error_code, error_message, error_traceback"
)
_CLAIM = """
    UPDATE todoke.outbox
       SET owner = %s, attempt = attempt + 1, claimed_at = clock_timestamp(),
           alone = false, started = false
     WHERE id = ANY(ARRAY(
           SELECT id FROM todoke.outbox
            WHERE state = 'ready' AND stream = 'todoke/default' AND lane = -1
              AND owner IS NULL
            ORDER BY priority, id LIMIT %s FOR UPDATE SKIP LOCKED))
 RETURNING id, message_id, context, stream, type, version, aggregate, key, handler, body, headers,
           trace_context, attempt, spared, crashes, deliver_before, created_at, claimed_at
"""
_SETTLE = f"""
    WITH gone AS (
        DELETE FROM todoke.outbox WHERE id = ANY(%s) AND owner = %s AND attempt = 1
     RETURNING {_CARRIED})
    INSERT INTO todoke.outbox_history ({_CARRIED}, note, settled_at)
    SELECT {_CARRIED}, NULL, clock_timestamp() FROM gone RETURNING id
"""
