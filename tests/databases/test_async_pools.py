"""Async code of any event loop gets connections: as many as the pool allows, and none is left."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from weakref import ReferenceType, ref

import pytest
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from tests.databases.conftest import opened
from tests.waiting import until
from todoke.databases import pool as rested
from todoke.testing.conformance.opened import Opened

SIZE, MOST = 2, 20
WHO = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
KILL = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}
ASYNC_SESSIONS = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    "mariadb": "SELECT count(*) FROM information_schema.processlist "
    "WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}


@pytest.fixture
def engine(there: Opened) -> AsyncEngine:
    return there.database.async_engine(there.url, SIZE)


@pytest.fixture(params=["postgres", "mariadb"])
def served(request: pytest.FixtureRequest) -> Iterator[Opened]:
    with opened(str(request.getfixturevalue(f"{request.param}_database"))) as there:
        yield there


async def crowd(engine: AsyncEngine, callers: int = 3 * MOST) -> int:
    """So many ask at once; how many were in at the most."""
    inside = most = 0

    async def ask() -> None:
        nonlocal inside, most
        async with engine.connect() as connection:
            inside += 1
            most = max(most, inside)
            assert await connection.scalar(text("SELECT 1")) == 1
            inside -= 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(callers):
            tasks.create_task(ask())
    return most


async def who(engine: AsyncEngine, kind: str) -> int:
    async with engine.connect() as connection:
        return await identity(connection, kind)


async def identity(connection: AsyncConnection, kind: str) -> int:
    return int((await connection.execute(text(WHO[kind]))).scalar_one())


def sessions(there: Opened) -> int:
    with there.engine.connect() as connection:
        return int(connection.execute(text(ASYNC_SESSIONS[there.database.kind])).scalar_one())


def test_a_crowd_waits_for_its_turn_in_every_loop(engine: AsyncEngine) -> None:
    """ID-3: however many ask at once, the server is not asked for more than the pool's size."""
    for _ in range(3):
        assert 1 < asyncio.run(crowd(engine)) < MOST


def test_loops_beside_each_other_do_not_meet(engine: AsyncEngine) -> None:
    """OB-1"""
    with beside() as other:
        for _ in range(2):
            told = asyncio.run_coroutine_threadsafe(crowd(engine), other)
            asyncio.run(crowd(engine))
            assert told.result(60) < MOST
        asyncio.run_coroutine_threadsafe(engine.dispose(), other).result(60)


def test_a_connection_is_used_again(served: Opened) -> None:
    """OP-5: opening one takes several trips to the server."""
    engine = served.database.async_engine(served.url, SIZE)

    async def twice() -> tuple[int, int]:
        kind = served.database.kind
        return await who(engine, kind), await who(engine, kind)

    first, second = asyncio.run(twice())
    assert first == second


def test_nothing_stays_open_when_the_loop_has_ended(served: Opened) -> None:
    """OP-5: neither after `dispose`, nor where nobody thought of it."""
    engine = served.database.async_engine(served.url, SIZE)
    asyncio.run(crowd(engine))
    until(lambda: sessions(served) == 0)

    async def tidy() -> None:
        await crowd(engine)
        await engine.dispose()
        until(lambda: sessions(served) == 0)

    asyncio.run(tidy())


def test_dispose_reaches_into_other_loops(served: Opened) -> None:
    """OP-5: what rests there is closed at once, what is in use when it comes back."""
    engine = served.database.async_engine(served.url, SIZE)
    with beside() as other:
        asyncio.run_coroutine_threadsafe(crowd(engine), other).result(60)
        kept: AsyncConnection = asyncio.run_coroutine_threadsafe(begun(engine), other).result(60)
        asyncio.run(engine.dispose())
        until(lambda: sessions(served) == 1)
        asyncio.run_coroutine_threadsafe(kept.close(), other).result(60)
        until(lambda: sessions(served) == 0)


def test_a_loop_that_has_ended_is_forgotten_by_the_next(engine: AsyncEngine) -> None:
    """OP-5: test suites have one for each test."""

    async def use() -> ReferenceType[asyncio.AbstractEventLoop]:
        await crowd(engine, 1)
        return ref(asyncio.get_running_loop())

    ended = asyncio.run(use())
    asyncio.run(use())
    gc.collect()
    assert ended() is None


def test_one_that_died_while_it_rested_is_replaced(
    served: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-7"""
    engine = served.database.async_engine(served.url, 1)
    monkeypatch.setattr(rested, "_A_WHILE", 0.0)
    kind = served.database.kind

    async def meet() -> None:
        victim = await who(engine, kind)
        with served.engine.begin() as connection:
            connection.execute(text(KILL[kind].format(victim)))
        assert await who(engine, kind) != victim

    asyncio.run(meet())


def test_after_one_broke_its_neighbours_are_not_trusted(served: Opened) -> None:
    """OB-7: a server that restarted has lost them all."""
    engine = served.database.async_engine(served.url, SIZE)
    kind = served.database.kind

    async def meet() -> None:
        async with engine.connect() as one, engine.connect() as other:
            before = {await identity(one, kind), await identity(other, kind)}
        async with engine.connect() as broken:
            victim = await identity(broken, kind)
            with served.engine.begin() as connection:
                connection.execute(text(KILL[kind].format(victim)))
            with pytest.raises(DBAPIError):
                await broken.execute(text("SELECT 1"))
        async with engine.connect() as one, engine.connect() as other:
            after = {await identity(one, kind), await identity(other, kind)}
        assert not before & after

    asyncio.run(meet())


def test_who_listens_later_is_told_as_well(engine: AsyncEngine) -> None:
    """OP-5"""
    seen: list[object] = []

    async def listen() -> None:
        await crowd(engine, 1)
        event.listen(engine.sync_engine, "checkout", lambda *told: seen.append(told))
        await crowd(engine, 1)

    asyncio.run(listen())
    assert len(seen) == 1


async def begun(engine: AsyncEngine) -> AsyncConnection:
    connection = await engine.connect()
    await connection.run_sync(_touch)
    return connection


def _touch(connection: Connection) -> None:
    connection.execute(text("SELECT 1"))


@contextmanager
def beside() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs in another thread."""
    ready, stop = Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def stay() -> None:
        loops.append(asyncio.get_running_loop())
        ready.set()
        await stop.wait()

    thread = Thread(target=lambda: asyncio.run(stay()))
    thread.start()
    ready.wait(60)
    try:
        yield loops[0]
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)
