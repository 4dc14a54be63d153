"""PgBouncer between us and PostgreSQL, each transaction on whatever connection is free."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import make_url
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Noted, Placed, publish, statuses
from tests.waiting import until
from tests.work.running import quick_application, worker
from todoke import Attempt, Backoff, Todoke, TransientError


@contextmanager
def behind_a_pooler(pooled: str, straight: str, **settings: object) -> Iterator[Todoke]:
    """As `docs/databases.md` says: no prepared statements, and a straight way for the ear."""
    assert make_url(pooled).port != make_url(straight).port
    settings |= {"database.prepare": False, "database.listen_url": straight}
    with quick_application(pooled, **settings) as app:
        yield app


def test_what_is_published_through_a_pooler_arrives_in_order(
    pgbouncer_database: str, postgres_database: str
) -> None:
    """OB-5 OB-9: plain, with a session, with an async one, and some that fail at first"""
    seen: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    with behind_a_pooler(pgbouncer_database, postgres_database) as app:

        @app.on(Placed, retry=Backoff("20ms"))
        def plain(event: Placed, attempt: Attempt) -> None:
            if event.order_id == int(event.note) and attempt.number == 1:
                raise TransientError("stumbled")
            seen["plain", event.order_id].append(int(event.note))

        @app.on(Placed)
        def with_session(event: Placed, session: Session) -> None:
            app.publish(session, Noted(order_id=event.order_id, note=event.note))
            seen["session", event.order_id].append(int(event.note))

        @app.on(Noted)
        async def with_async_session(event: Noted, session: AsyncSession) -> None:
            seen["async", event.order_id].append(int(event.note))

        with worker(app), worker(app):
            for step in range(10):
                publish(app, *(Placed(order_id=key, note=str(step)) for key in range(5)))
            until(lambda: sum(map(len, seen.values())) == 150, 60)
            until(lambda: {status for status, _ in statuses(app)} == {"PROCESSED"})
    for key in range(5):
        assert seen["plain", key] == seen["session", key] == [*range(10)]
        assert sorted(seen["async", key]) == [*range(10)]


def test_a_worker_behind_a_pooler_is_woken(pgbouncer_database: str, postgres_database: str) -> None:
    """OB-5: long before it would look by itself"""
    seen: list[int] = []
    rarely = {"outbox.poll": "10m"}
    with behind_a_pooler(pgbouncer_database, postgres_database, **rarely) as app:

        @app.on(Placed)
        def note(event: Placed) -> None:
            seen.append(event.order_id)

        with worker(app) as (_, process):
            until(lambda: process.ear.works is True)
            publish(app, Placed(order_id=1))
            until(lambda: seen == [1])
