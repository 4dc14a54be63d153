"""What the caller's transaction decides, its events follow: on every kind of handle."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.application import Placed, living
from tests.publish.desks import EVERY_KIND, Desk
from todoke import Todoke

PLACES = EVERY_KIND


class Undone(Exception):
    """Ends a transaction or a savepoint badly."""


def published(app: Todoke) -> list[int]:
    return [int(row.key) for row in living(app)]


async def test_a_commit_keeps_the_event(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
    assert published(app) == [1]


async def test_a_rollback_drops_the_event(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with pytest.raises(Undone):
        async with desk.transaction() as tx:
            await desk.publish(tx, Placed(order_id=1))
            raise Undone
    assert published(app) == []


async def test_the_change_and_its_event_are_kept_together(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    for order, fails in ((1, False), (2, True)):
        try:
            async with desk.transaction() as tx:
                await desk.execute(tx, f"INSERT INTO orders (id) VALUES ({order})")
                await desk.publish(tx, Placed(order_id=order))
                if fails:
                    raise Undone
        except Undone:
            pass
    assert published(app) == [1]
    assert orders(app) == [1]


async def test_an_uncommitted_event_is_seen_by_nobody_else(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
        if app.database.kind == "postgresql":
            assert published(app) == []


async def test_a_savepoint_that_is_rolled_back_drops_only_its_own(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
        with pytest.raises(Undone):
            async with desk.savepoint(tx):
                await desk.publish(tx, Placed(order_id=2))
                raise Undone
        await desk.publish(tx, Placed(order_id=3))
    assert published(app) == [1, 3]


async def test_a_released_savepoint_keeps_its_event(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        async with desk.savepoint(tx):
            await desk.publish(tx, Placed(order_id=1))
        await desk.publish(tx, Placed(order_id=2))
    assert published(app) == [1, 2]


async def test_a_released_savepoint_falls_with_the_one_around_it(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1))
        with pytest.raises(Undone):
            async with desk.savepoint(tx):
                await desk.publish(tx, Placed(order_id=2))
                async with desk.savepoint(tx):
                    await desk.publish(tx, Placed(order_id=3))
                raise Undone
        await desk.publish(tx, Placed(order_id=4))
    assert published(app) == [1, 4]


async def test_an_inner_savepoint_falls_without_the_one_around_it(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx, desk.savepoint(tx):
        await desk.publish(tx, Placed(order_id=1))
        with pytest.raises(Undone):
            async with desk.savepoint(tx):
                await desk.publish(tx, Placed(order_id=2))
                raise Undone
        await desk.publish(tx, Placed(order_id=3))
    assert published(app) == [1, 3]


async def test_a_released_savepoint_falls_with_the_transaction(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with pytest.raises(Undone):
        async with desk.transaction() as tx:
            async with desk.savepoint(tx):
                await desk.publish(tx, Placed(order_id=1))
            raise Undone
    assert published(app) == []


async def test_one_transaction_after_another_keeps_its_own_events(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    for order in (1, 2):
        async with desk.transaction() as tx:
            await desk.publish(tx, Placed(order_id=order))
    assert published(app) == [1, 2]


def orders(app: Todoke) -> list[int]:
    with app.engine.connect() as connection:
        return list(connection.execute(text("SELECT id FROM orders ORDER BY id")).scalars())
