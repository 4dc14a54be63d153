"""A view for people: every event with its status, wherever its row is by now."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.application import Placed, Shipped, application, publish, register
from todoke import PermanentError, Todoke
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    with application(migrated_url, clock=clock) as app:

        @app.on(Placed)
        def handle(event: Placed) -> None:
            if event.note == "refuse":
                raise PermanentError("no", code="NO")
            if event.note == "fail":
                raise OSError

        yield app


def view(app: Todoke) -> list[tuple[str, str, int]]:
    schema = app.database.schema
    name = f"{schema}.outbox_events" if schema else "todoke_outbox_events"
    with app.engine.connect() as connection:
        key = connection.dialect.identifier_preparer.quote("key")
        found = text(f"SELECT status, {key}, attempts FROM {name} ORDER BY {key}")
        rows = connection.execute(found)
        return [(row.status, row.key, row.attempts) for row in rows]


def test_each_status_is_seen(app: Todoke) -> None:
    """OB-3"""
    publish(app, Placed(order_id=1), Placed(order_id=2, note="refuse"))
    publish(app, Placed(order_id=3, note="fail"))
    app.drain()
    publish(app, Placed(order_id=4))
    with app.engine.connect() as connection:
        stream, worker = "todoke/default", register(app)
        app.claims[0].take_ordered(connection, worker, stream, range(64), 1, 1)
    publish(app, Placed(order_id=5))
    assert view(app) == [
        ("PROCESSED", "1", 1),
        ("DEAD", "2", 1),
        ("PENDING", "3", 1),
        ("PROCESSING", "4", 1),
        ("PENDING", "5", 0),
    ]


def test_the_events_room_sees_the_same(app: Todoke) -> None:
    """OB-3"""
    publish(app, Placed(order_id=1), Placed(order_id=2, note="refuse"))
    publish(app, Placed(order_id=3, note="fail"))
    app.drain()
    with app.session() as session:
        found = [(one.status, one.key, one.attempts) for one in app.events.list(session)]
    assert sorted(found, key=lambda one: one[1]) == view(app)


@pytest.mark.parametrize("status", ["PENDING", "PROCESSED", "DEAD", "PROCESSING"])
def test_events_are_found_by_status(app: Todoke, status: str) -> None:
    """OB-3"""
    publish(app, Placed(order_id=1), Placed(order_id=2, note="refuse"))
    publish(app, Placed(order_id=3, note="fail"))
    app.drain()
    with app.session() as session:
        found = [one.key for one in app.events.list(session, status=status)]
    keys = {"PROCESSED": ["1"], "DEAD": ["2"], "PENDING": ["3"], "PROCESSING": []}
    assert found == keys[status]


def test_a_redriven_event_is_pending_once_and_not_dead_beside_it(app: Todoke) -> None:
    """OB-3 ER-4"""
    publish(app, Placed(order_id=1, note="refuse"))
    app.drain()
    with app.session() as session:
        app.dead_letters.redrive(session, app.dead_letters.where(), by="mika", reason="again")
    assert view(app) == [("PENDING", "1", 0)]


def test_figures_tell_what_waits_and_for_how_long(app: Todoke, clock: Clock) -> None:
    """OP-1"""
    publish(app, Placed(order_id=1), Placed(order_id=2, note="refuse"))
    app.drain()
    publish(app, Shipped(), delay="1h")
    clock.advance("30s")
    with app.session() as session:
        status = app.events.status(session)
    assert (status.pending, status.processing, status.dead, status.processed_last_minute) == (
        1, 0, 1, 1,
    )  # fmt: skip
    assert status.oldest_pending is not None
    assert status.oldest_pending.total_seconds() == 30
