"""Looking for the rows of one process waits for no row of another: there may be a million."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from sqlalchemy import Connection, select, text

from tests.application import Noted, application, leases, living, publish, register
from todoke import Todoke
from todoke.runtime import Runtime
from todoke.testing import Clock

STREAM = "todoke/default"
IMPATIENT = {
    "postgresql": "SET lock_timeout = '1s'",
    "mariadb": "SET SESSION innodb_lock_wait_timeout = 1",
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["postgres", "mariadb"])
def app(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Todoke]:
    """Where rows are locked one by one."""
    with application(request.getfixturevalue(f"{request.param}_copy"), clock=clock) as app:
        publish(app, Noted(order_id=1), Noted(order_id=2))
        yield app


@contextmanager
def impatient(app: Todoke) -> Iterator[Connection]:
    """A connection that gives up soon, while somebody else has locked the second row."""
    live = app.outbox_table.live
    with app.engine.connect() as other, other.begin(), app.engine.connect() as connection:
        locked = select(live.c.id).order_by(live.c.id.desc()).limit(1).with_for_update()
        assert other.execute(locked).scalar_one() == living(app)[1].id
        connection.execute(text(IMPATIENT[app.database.kind]))
        connection.commit()
        yield connection
        connection.invalidate()  # its patience is not for the next one


def claims_the_first(app: Todoke) -> UUID:
    worker = register(app)
    with app.engine.connect() as connection:
        assert len(app.claims[0].take(connection, worker, STREAM, 1)) == 1
    return worker


def test_a_rescue_waits_for_nobody(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    claims_the_first(app)
    clock.advance("16s")
    _, rescuer = Runtime(app, leases=leases(app)).keepers()
    with impatient(app) as connection:
        rescuer.tick(connection)
    assert [row.state for row in living(app)] == ["suspect", "ready"]


def test_strays_are_freed_without_waiting(app: Todoke) -> None:
    """OB-4"""
    worker = claims_the_first(app)
    with impatient(app) as connection:
        assert app.claims[0].free_strays(connection, worker, known=set()) == 1
    assert [row.owner for row in living(app)] == [None, None]


def test_what_is_known_is_no_stray(app: Todoke) -> None:
    """OB-4"""
    worker = claims_the_first(app)
    first = living(app)[0]
    with app.engine.connect() as connection:
        known = {(first.id, first.attempt)}
        assert app.claims[0].free_strays(connection, worker, known=known) == 0
    assert living(app)[0].owner == worker


def test_a_row_that_is_known_from_an_earlier_attempt_is_a_stray(app: Todoke) -> None:
    """OB-4: its answer waits to be written, and the row was claimed again without a reply."""
    worker = claims_the_first(app)
    first = living(app)[0]
    with app.engine.connect() as connection:
        known = {(first.id, first.attempt - 1)}
        assert app.claims[0].free_strays(connection, worker, known=known) == 1
    assert living(app)[0].owner is None
