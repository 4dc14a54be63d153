"""Chancy: what its authors document, in its own environment."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

chancy = import_module("chancy")
psycopg = import_module("psycopg")
rows = import_module("psycopg.rows")

HERE = "__main__.work"
"""It finds jobs by what can be imported."""
QUEUE = "default"
doing: list[Do] = []


async def work(**order: Any) -> None:
    doing[0](order)


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Chancy]:
    log = logging.getLogger("chancy")
    log.setLevel(logging.WARNING)  # it writes a line for each job otherwise
    async with (
        chancy.Chancy(wish["dsn"], log=log) as app,
        await psycopg.AsyncConnection.connect(wish["dsn"], row_factory=rows.dict_row) as connection,
    ):
        yield Chancy(app, connection, wish)


class Chancy:
    def __init__(self, app: Any, connection: Any, wish: Wish) -> None:
        self._app, self._connection, self._wish = app, connection, wish

    async def install(self) -> None:
        await self._app.migrate()

    async def enqueue(self, order: Order) -> None:
        if self._wish.get("by_itself"):
            await self._app.push(_job(order))
        else:
            await self.enqueue_all([order])

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        async with self._connection.transaction(), self._connection.cursor() as cursor:
            await self._app.push_many_ex(cursor, [_job(order) for order in some])

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        doing.append(do)
        queue = chancy.Queue(
            QUEUE,
            concurrency=self._wish["concurrency"],
            executor=chancy.Chancy.Executor.Async,
            polling_interval=1,
            eager_polling=True,
        )
        await self._app.declare(queue, upsert=True)
        worker = chancy.Worker(self._app, register_signal_handlers=False)
        worker.send_outgoing_interval = self._wish["outgoing"]
        async with worker:
            yield


def _job(order: Order) -> Any:
    return chancy.Job(func=HERE, kwargs=order.model_dump())


if __name__ == "__main__":
    play_peer(opened)
