"""PgQueuer: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

asyncpg = import_module("asyncpg")
pgqueuer_db = import_module("pgqueuer.db")
pgqueuer_qm = import_module("pgqueuer.qm")
pgqueuer_queries = import_module("pgqueuer.queries")

ENTRYPOINT = "work"


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[PgQueuer]:
    connection = await asyncpg.connect(wish["dsn"])
    yield PgQueuer(connection, wish)
    await connection.close()


class PgQueuer:
    def __init__(self, connection: Any, wish: Wish) -> None:
        self._connection, self._wish = connection, wish
        self._queries = pgqueuer_queries.Queries(pgqueuer_db.AsyncpgDriver(connection))

    async def install(self) -> None:
        await self._queries.install()

    async def enqueue(self, order: Order) -> None:
        by_itself = self._wish.get("by_itself")
        async with nullcontext() if by_itself else self._connection.transaction():
            await self._queries.enqueue(ENTRYPOINT, _body(order))

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        count = len(some)
        async with self._connection.transaction():
            await self._queries.enqueue([ENTRYPOINT] * count, [*map(_body, some)], [0] * count)

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        manager = pgqueuer_qm.QueueManager(self._queries)

        @manager.entrypoint(ENTRYPOINT)  # type: ignore[untyped-decorator]
        async def work(job: Any) -> None:
            do(json.loads(job.payload))

        running = asyncio.create_task(manager.run(batch_size=self._wish["batch"]))
        yield
        manager.shutdown.set()
        await running


def _body(order: Order) -> bytes:
    return order.model_dump_json().encode()


if __name__ == "__main__":
    play_peer(opened)
