"""An application inside an ASGI process: `app.lifespan` publishes, `app.embedded` works as well."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.applications import Starlette

from tests.application import Placed, publish, statuses
from tests.waiting import until
from tests.web.client import running
from todoke import Event, Settings, Todoke
from todoke.clock import SystemClock
from todoke.databases import schema
from todoke.errors import InvalidOption, SchemaOutdated, UnknownDependency


class Unknown:
    """What nobody provides."""


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    settings = Settings({"worker.drain_timeout": "1s"}, environment={})
    app = Todoke(migrated_url, clock=SystemClock(), settings=settings)
    yield app
    app.close()


def web_of(app: Todoke) -> FastAPI:
    web = FastAPI(lifespan=app.embedded)

    @web.post("/orders/{order_id}")
    async def place(order_id: int) -> None:
        async with app.async_session() as session:
            app.publish(session, Placed(order_id=order_id))

    return web


def processed(app: Todoke, count: int) -> Callable[[], bool]:
    return lambda: [status for status, _ in statuses(app)] == ["PROCESSED"] * count


def workers(app: Todoke) -> int:
    with app.session() as session:
        return len(app.events.status(session).workers)


async def test_a_web_application_with_lifespan_publishes_and_runs_nothing(app: Todoke) -> None:
    """OB-1: handlers are the business of workers elsewhere."""

    @app.on(Placed)
    def handle(event: Placed) -> None:
        pass

    async with running(FastAPI(lifespan=app.lifespan)):
        publish(app, Placed(order_id=1))
        assert workers(app) == 0
    assert statuses(app) == [("PENDING", 0)]


async def test_an_embedded_worker_handles_what_the_web_application_publishes(app: Todoke) -> None:
    """OB-1, OB-3: async code of requests and of handlers, each on its own event loop."""
    seen: list[int] = []

    @app.on(Placed)
    async def handle(event: Placed, session: AsyncSession) -> None:
        seen.append(event.order_id)

    async with running(web_of(app)) as client:
        for count in (20, 40):
            orders = [client.post(f"/orders/{number}") for number in range(count - 20, count)]
            assert {response.status_code for response in await asyncio.gather(*orders)} == {200}
            await asyncio.to_thread(until, processed(app, count), 30)
        assert workers(app) == 1
    assert sorted(seen) == list(range(40))
    assert workers(app) == 0


async def test_requests_and_async_handlers_share_no_connection(app: Todoke) -> None:
    """OB-1: a driver's connection belongs to one event loop, and there are two."""
    of_handlers: set[object] = set()

    @app.on(Placed)
    async def handle(event: Placed, session: AsyncSession) -> None:
        of_handlers.add(await driver_connection(session))

    async with running(web_of(app)) as client:
        await client.post("/orders/1")
        await asyncio.to_thread(until, processed(app, 1))
        async with app.async_session() as session:
            assert await driver_connection(session) not in of_handlers


async def driver_connection(session: AsyncSession) -> object:
    raw = await (await session.connection()).get_raw_connection()
    return raw.driver_connection


async def test_a_web_application_can_be_started_again(app: Todoke) -> None:
    """OB-1: as test clients do, within one process; wake-ups included."""

    @app.on(Placed)
    def handle(event: Placed) -> None:
        pass

    web = web_of(app)
    for number in range(1, 4):
        async with running(web) as client:
            await client.post(f"/orders/{number}")
            await asyncio.to_thread(until, processed(app, number))


async def test_at_the_end_what_still_runs_is_handed_back_and_nothing_stays(app: Todoke) -> None:
    """OB-7: within worker.drain_timeout; the attempt is not counted."""
    before = set(threading.enumerate())
    begun, over = threading.Event(), threading.Event()

    @app.on(Placed)
    def handle(event: Placed) -> None:
        begun.set()
        over.wait(30)

    async with running(web_of(app)) as client:
        await client.post("/orders/1")
        assert begun.wait(10)
    assert statuses(app) == [("PENDING", 0)]
    assert workers(app) == 0
    over.set()
    until(lambda: not ours(before))


def ours(before: set[threading.Thread]) -> list[str]:
    started = set(threading.enumerate()) - before
    return [thread.name for thread in started if thread.name.startswith("todoke")]


@pytest.mark.parametrize("kind", ["lifespan", "embedded"])
async def test_missing_tables_fail_the_start(sqlite_database: str, kind: str) -> None:
    """OB-1: with the remedy, before the first request."""
    app = Todoke(sqlite_database, settings=Settings(environment={}))
    with pytest.raises(SchemaOutdated, match="todoke migrate"):
        async with running(start(app, kind)):
            pass


@pytest.mark.parametrize("kind", ["lifespan", "embedded"])
async def test_a_handler_that_cannot_run_fails_the_start(sqlite_copy: str, kind: str) -> None:
    """OB-1"""
    app = Todoke(sqlite_copy, settings=Settings(environment={}))

    @app.on(Placed)
    def handle(event: Placed, unknown: Unknown) -> None:
        pass

    with pytest.raises(UnknownDependency, match="Unknown"):
        async with running(start(app, kind)):
            pass


def start(app: Todoke, kind: str) -> Starlette:
    return Starlette(lifespan=getattr(app, kind))


async def test_a_database_in_memory_has_no_embedded_worker() -> None:
    """OB-1: each connection would see another database."""
    app = Todoke("sqlite://", settings=Settings(environment={}))
    app.migrate()
    with pytest.raises(InvalidOption, match="a worker needs a file"):
        async with running(start(app, "embedded")):
            pass


async def test_a_database_in_memory_can_be_published_to_and_drained() -> None:
    """TS-1: the fastest test of a web application."""
    app = Todoke("sqlite://", settings=Settings(environment={}))
    seen: list[Event] = []

    @app.on(Placed)
    def handle(event: Placed) -> None:
        seen.append(event)

    app.migrate()
    async with running(start(app, "lifespan")):
        publish(app, Placed(order_id=1))
        app.drain()
        assert len(seen) == 1


async def test_the_event_loop_goes_on_while_a_start_waits_for_the_database(
    sqlite_copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-1: other tasks of the process do not stand still."""
    app = Todoke(sqlite_copy, settings=Settings(environment={}))
    go_on = threading.Event()
    check = schema.check
    monkeypatch.setattr(schema, "check", lambda *given: go_on.wait(10) and check(*given))

    async def other_task() -> None:
        go_on.set()

    async with asyncio.TaskGroup() as tasks:
        starting = tasks.create_task(enter_and_leave(app))
        tasks.create_task(other_task())
    assert starting.done()


async def enter_and_leave(app: Todoke) -> None:
    async with app.lifespan():
        pass
