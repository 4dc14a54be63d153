"""Claiming: each row to one worker, in order, its attempt counted."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, update

from tests.application import Noted, application, living, publish, register
from todoke import Todoke
from todoke.work.claim import Claims
from todoke.work.item import Item

STREAM = "todoke/default"
EVERY_LANE = range(64)


@pytest.fixture
def claims(app: Todoke) -> Claims:
    return app.claims[0]


@pytest.fixture
def connection(app: Todoke) -> Iterator[Connection]:
    with app.engine.connect() as connection:
        yield connection


def take(app: Todoke, claims: Claims, connection: Connection, limit: int) -> list[Item]:
    return claims.take(connection, register(app), STREAM, limit)


def test_a_claim_takes_no_more_than_it_asks_for(
    app: Todoke, claims: Claims, connection: Connection
) -> None:
    """OB-6"""
    publish(app, *(Noted(order_id=n) for n in range(5)))
    assert [int(one.key) for one in take(app, claims, connection, 3)] == [0, 1, 2]
    assert [int(one.key) for one in take(app, claims, connection, 3)] == [3, 4]
    assert take(app, claims, connection, 3) == []


def test_a_claim_counts_the_attempt_and_names_the_owner(
    app: Todoke, claims: Claims, connection: Connection
) -> None:
    """OB-3 OB-6"""
    publish(app, Noted(order_id=1))
    owner = register(app)
    (item,) = claims.take(connection, owner, STREAM, 1)
    (row,) = living(app)
    assert (item.attempt, row.attempt, row.owner) == (1, 1, owner)


def test_the_more_urgent_comes_first_then_the_older(
    app: Todoke, claims: Claims, connection: Connection
) -> None:
    """OB-6"""
    publish(app, *(Noted(order_id=n) for n in range(4)))
    live = app.outbox_table.live
    with app.engine.begin() as urgent:
        urgent.execute(update(live).where(live.c.key == "3").values(priority=-1))
        urgent.execute(update(live).where(live.c.key == "0").values(priority=1))
    assert [int(one.key) for one in take(app, claims, connection, 2)] == [3, 1]
    assert [int(one.key) for one in take(app, claims, connection, 2)] == [2, 0]


def test_another_queue_is_left_alone(app: Todoke, claims: Claims, connection: Connection) -> None:
    """OB-6"""
    publish(app, Noted(order_id=1))
    assert claims.take(connection, register(app), "todoke/files", 10) == []


def test_what_is_not_due_is_left_alone(app: Todoke, claims: Claims, connection: Connection) -> None:
    """OB-2"""
    publish(app, Noted(order_id=1), delay="1h")
    assert take(app, claims, connection, 10) == []


def test_many_workers_never_get_the_same_row(app: Todoke, claims: Claims) -> None:
    """OB-6"""
    publish(app, *(Noted(order_id=n) for n in range(200)))
    taken: list[list[int]] = [[] for _ in range(8)]

    def work(mine: list[int]) -> None:
        worker = register(app)
        with app.engine.connect() as connection:
            while items := claims.take(connection, worker, STREAM, 7):
                mine += [item.id for item in items]

    threads = [threading.Thread(target=work, args=[mine]) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    every = [one for mine in taken for one in mine]
    assert len(every) == len(set(every)) == 200


def test_a_row_locked_by_another_is_skipped_and_not_waited_for(postgres_copy: str) -> None:
    """OB-6: FOR UPDATE SKIP LOCKED"""
    with application(postgres_copy) as app:
        publish(app, Noted(order_id=1), Noted(order_id=2))
        claims = app.claims[0]
        live = app.outbox_table.live
        with app.engine.connect() as other, app.engine.connect() as connection:
            other.execute(live.select().where(live.c.key == "1").with_for_update())
            assert [one.key for one in take(app, claims, connection, 10)] == ["2"]


def test_a_claim_does_not_wait_for_a_publisher(postgres_copy: str) -> None:
    """OB-6"""
    with application(postgres_copy) as app:
        publish(app, Noted(order_id=1))
        claims = app.claims[0]
        with app.engine.begin() as publisher, app.engine.connect() as connection:
            app.publish(publisher, Noted(order_id=2))
            assert [one.key for one in take(app, claims, connection, 10)] == ["1"]


def test_an_id_that_was_drawn_early_and_committed_late_is_found(postgres_copy: str) -> None:
    """OB-4 OB-6: rows are found by state, never by a cursor over ids"""
    with application(postgres_copy) as app:
        claims = app.claims[0]
        with app.engine.connect() as slow, app.engine.connect() as connection:
            with slow.begin():
                app.publish(slow, Noted(order_id=1))
                publish(app, Noted(order_id=2))
                assert [one.key for one in take(app, claims, connection, 10)] == ["2"]
            assert [one.key for one in take(app, claims, connection, 10)] == ["1"]


def test_a_process_that_was_declared_dead_claims_nothing(
    app: Todoke, claims: Claims, connection: Connection
) -> None:
    """OB-6 OB-7"""
    publish(app, Noted(order_id=1))
    assert claims.take(connection, app.identities.draw(), STREAM, 1) == []
