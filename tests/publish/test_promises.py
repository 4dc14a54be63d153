"""Publications on async connections: what is not awaited is refused, what is awaited is not."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator
from typing import Any
from weakref import ref

import aiosqlite
import asyncpg
import psycopg
import pytest
from sqlalchemy import text

from tests.application import Placed, application, living
from tests.publish.desks import EVERY_KIND, Desk
from tests.publish.desks.of_drivers import asyncpgs, libpq
from todoke import Todoke
from todoke.errors import NotAwaited

PLACES = [(name, kind) for name, kind in EVERY_KIND if kind.is_async]


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Python itself warns of a coroutine that was never awaited."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield
        gc.collect()


def published(app: Todoke) -> list[int]:
    return [int(row.key) for row in living(app)]


async def test_what_is_not_awaited_fails_the_commit(app: Todoke, desk: Desk) -> None:
    """OB-1: neither the change nor the event is kept"""
    with pytest.raises(NotAwaited, match=r"publish\(Placed\) was called without `await`"):
        async with desk.transaction() as tx:
            await desk.execute(tx, "INSERT INTO orders (id) VALUES (1)")
            app.publish(tx, Placed(order_id=1))
    assert published(app) == []
    with app.engine.connect() as connection:
        assert connection.execute(text("SELECT id FROM orders")).all() == []


async def test_one_that_is_kept_in_a_variable_fails_the_commit_too(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with pytest.raises(NotAwaited, match="publish_all was called without `await`"):
        async with desk.transaction() as tx:
            forgotten: Any = app.publish_all(tx, [Placed(order_id=1)])
    forgotten.close()
    assert published(app) == []


async def test_a_rollback_is_not_refused(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with pytest.raises(ZeroDivisionError):
        async with desk.transaction() as tx:
            app.publish(tx, Placed(order_id=1))
            raise ZeroDivisionError
    assert published(app) == []


async def test_a_task_may_await_it(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        task: asyncio.Task[Any] = asyncio.create_task(desk.publish(tx, Placed(order_id=1)))
        assert (await task).key == "1"
    assert published(app) == [1]


async def test_psycopg_goes_on_after_the_rollback(postgres_copy: str) -> None:
    """OB-1"""
    with application(postgres_copy) as app:
        connection = await psycopg.AsyncConnection.connect(**libpq(app.url))
        app.publish(connection, Placed(order_id=1))  # type: ignore[unused-coroutine]
        for _ in range(2):
            with pytest.raises(NotAwaited):
                await connection.commit()
        await connection.rollback()
        await asyncio.gather(*(app.publish(connection, Placed(order_id=n)) for n in (2, 3)))
        await connection.commit()
        await connection.close()
        assert sorted(published(app)) == [2, 3]


async def test_asyncpg_goes_on_after_the_rollback(postgres_copy: str) -> None:
    """OB-1"""
    with application(postgres_copy) as app:
        async with asyncpg.create_pool(**asyncpgs(app.url), min_size=1, max_size=1) as pool:
            with pytest.raises(NotAwaited):
                async with pool.acquire() as connection, connection.transaction():
                    app.publish(connection, Placed(order_id=1))  # type: ignore[unused-coroutine]
                    await connection.fetch("SELECT 1")
            async with pool.acquire() as connection, connection.transaction():
                await app.publish(connection, Placed(order_id=2))
        assert published(app) == [2]


async def test_aiosqlite_goes_on_after_the_rollback(sqlite_copy: str) -> None:
    """OB-1"""
    with application(sqlite_copy) as app:
        async with aiosqlite.connect(str(app.url.database)) as connection:
            app.publish(connection, Placed(order_id=1))  # type: ignore[unused-coroutine]
            for _ in range(2):
                with pytest.raises(NotAwaited):
                    await connection.execute("SELECT 1")
            await connection.rollback()
            await asyncio.gather(*(app.publish(connection, Placed(order_id=n)) for n in (2, 3)))
            await connection.commit()
        assert sorted(published(app)) == [2, 3]


async def test_an_async_connection_goes_on_after_the_rollback(app: Todoke) -> None:
    """OB-1"""
    async with app.async_engine.connect() as connection:
        await connection.begin()
        await connection.execute(text("INSERT INTO orders (id) VALUES (1)"))
        app.publish(connection, Placed(order_id=1))  # type: ignore[unused-coroutine]
        with pytest.raises(NotAwaited):
            await connection.commit()
        await connection.rollback()
        await app.publish(connection, Placed(order_id=2))
        await connection.commit()
        found = await connection.execute(text("SELECT id FROM orders"))
        assert found.all() == []
    assert published(app) == [2]


async def test_a_forgotten_one_keeps_no_connection_alive(postgres_copy: str) -> None:
    """OB-1: its open transaction would hold locks"""
    with application(postgres_copy) as app:
        connection = await asyncpg.connect(**asyncpgs(app.url))
        app.publish(connection, Placed(order_id=1))
        known = ref(connection)
        connection.terminate()
        del connection
        gc.collect()
        assert known() is None
