"""Oban for Python, where that is new enough: what its authors document, in its own environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

oban = import_module("oban")
psycopg = import_module("psycopg")
schema = import_module("oban.schema")
uvloop = import_module("uvloop")

QUEUE = "default"
doing: list[Do] = []


class Work:
    async def process(self, job: Any) -> None:
        doing[0](job.args)


worker: Any = oban.worker(queue=QUEUE)(Work)


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Oban]:
    pool = await oban.Oban.create_pool(wish["dsn"])
    async with await psycopg.AsyncConnection.connect(wish["dsn"]) as connection:
        yield Oban(pool, connection, wish)
    await pool.close()


class Oban:
    def __init__(self, pool: Any, connection: Any, wish: Wish) -> None:
        self._pool, self._connection, self._wish = pool, connection, wish
        self._client = oban.Oban(pool=pool, name="client")

    async def install(self) -> None:
        await schema.install(self._pool)

    async def enqueue(self, order: Order) -> None:
        if self._wish.get("by_itself"):
            await self._client.enqueue(_job(order))
            return
        async with self._connection.transaction():
            await self._client.enqueue(_job(order), conn=self._connection)

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        jobs = [_job(order) for order in some]
        async with self._connection.transaction():
            await self._client.enqueue_many(jobs, conn=self._connection)

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        doing.append(do)
        async with oban.Oban(pool=self._pool, queues={QUEUE: self._wish["limit"]}):
            yield


def _job(order: Order) -> Any:
    return worker.new(order.model_dump())


if __name__ == "__main__":
    uvloop.install()  # as its own command line does
    play_peer(opened)
