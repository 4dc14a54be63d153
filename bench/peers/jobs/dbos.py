"""DBOS: a queued workflow without steps, as its authors document it, in its own environment."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

dbos = import_module("dbos")
sqlalchemy = import_module("sqlalchemy")

QUEUE = "orders"
OPTIONS = {"workflow_name": "work", "queue_name": QUEUE}


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Dbos]:
    client = dbos.DBOSClient(system_database_url=wish["dsn"])
    with sqlalchemy.create_engine(wish["url"]).connect() as connection:
        yield Dbos(client, connection, wish)
    client.destroy()


class Dbos:
    def __init__(self, client: Any, connection: Any, wish: Wish) -> None:
        self._client, self._connection, self._wish = client, connection, wish

    async def install(self) -> None:
        """The worker's first start makes the tables."""
        async with self.working(lambda _: None):
            pass

    async def enqueue(self, order: Order) -> None:
        if self._wish.get("by_itself"):
            self._client.enqueue(OPTIONS, order.model_dump())
        else:
            await self.enqueue_all([order])

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        with self._connection.begin():
            for order in some:
                self._client.enqueue_in_transaction(self._connection, OPTIONS, order.model_dump())

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        app = dbos.DBOS(
            config={
                "name": "bench",
                "system_database_url": self._wish["dsn"],
                "executor_id": str(os.getpid()),
                "log_level": "ERROR",
                "sys_db_pool_size": self._wish.get("pool", 20),
                "max_executor_threads": self._wish.get("threads", 64),
            }
        )

        @dbos.DBOS.workflow(name="work")  # type: ignore[untyped-decorator]
        def work(order: dict[str, Any]) -> None:
            do(order)

        dbos.DBOS.launch()
        polling = self._wish.get("polling", 0.01)
        await dbos.DBOS.register_queue_async(QUEUE, polling_interval_sec=polling)
        yield
        dbos.DBOS.destroy()
        del app


if __name__ == "__main__":
    play_peer(opened)
