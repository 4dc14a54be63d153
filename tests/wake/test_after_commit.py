"""A commit with events rings the bell, on every kind of handle; nothing else does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from random import Random

import pytest
from sqlalchemy import Connection, func, select, text
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped
from tests.publish.desks import OF_DJANGO, OF_SQLALCHEMY, OWN, Desk
from tests.waiting import until
from tests.wake.ringing import PLACED, Heard, listener, ringing_application
from todoke import Todoke

_NEVER = threading.Event()
AFTERWARDS = frozenset({"event:free:afterwards/default"})


@pytest.fixture
def app(postgres_copy: str) -> Iterator[Todoke]:
    with ringing_application(postgres_copy) as app:
        yield app


@pytest.fixture
def heard(app: Todoke) -> Iterator[Heard]:
    with listener(app) as heard:
        yield heard


# Django without an atomic block tells of no commit.
TELL_OF_COMMITS = (*OF_SQLALCHEMY, OF_DJANGO[0])


@pytest.fixture
def desk(request: pytest.FixtureRequest, app: Todoke) -> Desk:
    made = request.param(app)
    assert isinstance(made, Desk)
    return made


def every(*kinds: type[Desk]) -> pytest.MarkDecorator:
    names = [kind.__name__ for kind in kinds]
    return pytest.mark.parametrize("desk", kinds, ids=names, indirect=True)


@every(*TELL_OF_COMMITS, *OWN["postgres"])
async def test_a_commit_rings(desk: Desk, heard: Heard) -> None:
    """design 12"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
        await desk.publish(tx, Placed(order_id=2))
    until(lambda: heard.rings)
    if isinstance(desk, OF_DJANGO):  # on_commit is told of each publication by itself
        assert set(heard.rings) == {PLACED}
    else:
        assert heard.rings == [PLACED]


@every(*TELL_OF_COMMITS)
async def test_a_rollback_and_a_commit_without_events_are_silent(desk: Desk, heard: Heard) -> None:
    """design 12"""
    with pytest.raises(ZeroDivisionError):
        async with desk.transaction() as tx:
            await desk.publish(tx, Placed(order_id=1))
            raise ZeroDivisionError
    async with desk.transaction() as tx:
        await desk.execute(tx, "SELECT 1")
    ring_afterwards(desk.app)
    until(lambda: heard.rings)
    assert heard.rings == [AFTERWARDS]


@every(*OWN["postgres"])
async def test_a_drivers_transaction_rings_only_when_it_is_over(desk: Desk, heard: Heard) -> None:
    """design 12: after its rollback for nothing, too, which costs a look"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
        ring_afterwards(desk.app)
        until(lambda: heard.rings)
    until(lambda: len(heard.rings) == 2)
    assert heard.rings == [AFTERWARDS, PLACED]


def test_an_event_for_later_is_silent(app: Todoke, heard: Heard) -> None:
    """design 12: nobody could take it yet"""
    with app.session() as session:
        app.publish(session, Placed(order_id=1), delay="1h")
    ring_afterwards(app)
    until(lambda: heard.rings)
    assert heard.rings == [AFTERWARDS]


def test_a_session_inside_an_outer_transaction_rings_with_the_outer_commit(
    app: Todoke, heard: Heard
) -> None:
    """design 12: handlers publish like this"""
    with app.engine.connect() as connection, connection.begin() as outer:
        with Session(connection, join_transaction_mode="rollback_only") as session:
            app.publish(session, Placed(order_id=1))
            session.commit()
        ring_afterwards(app)
        until(lambda: heard.rings)
        assert heard.rings == [AFTERWARDS]
        outer.commit()
        until(lambda: len(heard.rings) == 2)
    assert heard.rings[1] == PLACED


def test_a_two_phase_commit_rings(app: Todoke, heard: Heard) -> None:
    """design 12"""
    with app.engine.connect() as connection:
        phases = connection.begin_twophase()
        app.publish(connection, Placed(order_id=1))
        phases.prepare()
        ring_afterwards(app)
        until(lambda: heard.rings)
        phases.commit()
        until(lambda: len(heard.rings) == 2)
    assert heard.rings == [AFTERWARDS, PLACED]


def test_one_connection_rings_for_each_of_its_transactions(app: Todoke, heard: Heard) -> None:
    """design 12"""
    with app.engine.connect() as connection:
        for order in range(3):
            app.publish(connection, Placed(order_id=order))
            connection.commit()
            until(lambda: len(heard.rings) == order + 1)  # noqa: B023
        app.publish(connection, Shipped())
        connection.rollback()
        connection.execute(text("SELECT 1"))
        connection.commit()
    ring_afterwards(app)
    until(lambda: AFTERWARDS in heard.rings)
    assert heard.rings == [PLACED, PLACED, PLACED, AFTERWARDS]


def test_a_ring_never_comes_before_its_row(app: Todoke) -> None:
    """design 12: 500 trials, each transaction open for up to 5 ms after its INSERT"""
    random, counted = Random(7), []
    with app.engine.connect() as looking:

        def count() -> None:
            counted.append(rows(app, looking))

        with listener(app, then=count) as heard, app.engine.connect() as connection:
            for trial in range(500):
                app.publish(connection, Placed(order_id=trial))
                _NEVER.wait(random.random() * 0.005)
                connection.commit()
                until(lambda: len(heard.rings) == trial + 1)  # noqa: B023
    assert counted == list(range(1, 501))


def rows(app: Todoke, connection: Connection) -> int:
    with connection.begin():
        found = connection.scalar(select(func.count()).select_from(app.outbox_table.live))
    assert found is not None
    return found


def ring_afterwards(app: Todoke) -> None:
    """A ring that comes after all that rang before it."""
    with app.engine.begin() as connection:
        connection.execute(text("SELECT 1"))
        app.outbox._ring(connection, AFTERWARDS)
