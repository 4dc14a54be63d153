"""Procrastinate: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

procrastinate = import_module("procrastinate")
psycopg = import_module("psycopg")
logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it warns of apps in a main module


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Procrastinate]:
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=wish["dsn"]))
    async with (
        app.open_async(),
        await psycopg.AsyncConnection.connect(wish["dsn"]) as connection,
    ):
        yield Procrastinate(app, connection, wish)


class Procrastinate:
    def __init__(self, app: Any, connection: Any, wish: Wish) -> None:
        self._app, self._connection, self._wish = app, connection, wish
        self._do: Do | None = None

        @app.task(name="work")  # type: ignore[untyped-decorator]
        async def work(**order: Any) -> None:
            assert self._do is not None
            self._do(order)

        self._task = work

    async def install(self) -> None:
        await self._app.schema_manager.apply_schema_async()

    async def enqueue(self, order: Order) -> None:
        if self._wish.get("by_itself"):
            await self._task.defer_async(**order.model_dump())
            return
        async with self._connection.transaction():
            task = self._task.configure(connection=self._connection)
            await task.defer_async(**order.model_dump())

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        async with self._connection.transaction():
            task = self._task.configure(connection=self._connection)
            await task.batch_defer_async(*(order.model_dump() for order in some))

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        self._do = do
        told = {"concurrency": self._wish["concurrency"], "delete_jobs": self._wish["delete_jobs"]}
        running = asyncio.create_task(
            self._app.run_worker_async(**told, install_signal_handlers=False)
        )
        yield
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


if __name__ == "__main__":
    play_peer(opened)
