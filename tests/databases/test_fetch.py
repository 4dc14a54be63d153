"""A statement that is a transaction by itself: its commit, its values, its faults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest
from sqlalchemy import Connection, bindparam, select, text, update
from sqlalchemy.exc import DBAPIError

from tests.application import Placed, application, publish
from todoke import Todoke
from todoke.testing import Clock


@pytest.fixture(params=["sqlite", "postgres"])
def app(request: pytest.FixtureRequest) -> Iterator[Todoke]:
    """Where an UPDATE can answer rows, which is what is fetched."""
    with application(request.getfixturevalue(f"{request.param}_copy"), clock=Clock()) as app:
        publish(app, Placed(order_id=1))
        yield app


def answered(app: Todoke) -> Any:
    """An UPDATE that answers values of every type a claim has."""
    live = app.outbox_table.live
    return (
        update(live)
        .where(live.c.attempt == bindparam("was"))
        .values(attempt=7, claimed_at=app.database.now)
        .returning(live.c.message_id, live.c.alone, live.c.created_at, live.c.key)
    )


def test_it_is_committed_and_answers_what_sqlalchemy_would(app: Todoke) -> None:
    """OB-4"""
    live = app.outbox_table.live
    with app.engine.connect() as connection:
        (row,) = app.database.fetch(connection, answered(app), {"was": 0})
        assert not connection.in_transaction()
    with app.engine.connect() as other:
        stored = other.execute(
            select(live.c.message_id, live.c.alone, live.c.created_at, live.c.key)
        ).one()
        assert other.execute(select(live.c.attempt)).scalar_one() == 7
    assert tuple(row) == tuple(stored)
    assert row[2].tzinfo is UTC


def test_the_connection_keeps_its_transactions(app: Todoke) -> None:
    """OB-4: what comes next on it can still be rolled back"""
    live = app.outbox_table.live
    with app.engine.connect() as connection:
        app.database.fetch(connection, answered(app), {"was": 0})
        with connection.begin() as transaction:
            connection.execute(update(live).values(attempt=9))
            transaction.rollback()
        assert connection.execute(select(live.c.attempt)).scalar_one() == 7


def test_a_fault_is_told_as_sqlalchemy_tells_it(app: Todoke) -> None:
    """OB-4: and nothing of it stays behind"""
    missing = text("SELECT nothing FROM nowhere").columns()
    with app.engine.connect() as connection:
        with pytest.raises(DBAPIError) as told:
            app.database.fetch(connection, missing, {})
        assert not app.database.is_lost(told.value)
        assert not connection.invalidated
        assert len(app.database.fetch(connection, answered(app), {"was": 0})) == 1


def test_a_connection_that_broke_is_known_to_be_lost(postgres_copy: str) -> None:
    """OB-4"""
    with application(postgres_copy) as app, app.engine.connect() as connection:
        end_session(app, connection)
        with pytest.raises(DBAPIError) as told:
            app.database.fetch(connection, answered(app), {"was": 0})
        assert app.database.is_lost(told.value)
        assert connection.invalidated
        connection.rollback()
        assert app.database.fetch(connection, answered(app), {"was": 0}) == []


def end_session(app: Todoke, connection: Connection) -> None:
    victim = app.database.session_mark(connection)
    connection.rollback()
    with app.engine.connect() as other:
        app.database.break_off(other, victim)
