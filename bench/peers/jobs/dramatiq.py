"""Dramatiq on Redis: what its authors document, in its own environment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

dramatiq = import_module("dramatiq")
redis_broker = import_module("dramatiq.brokers.redis")


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Dramatiq]:
    broker = redis_broker.RedisBroker(url=wish["redis"])
    dramatiq.set_broker(broker)
    broker.client.ping()  # connected before it counts
    yield Dramatiq(broker, wish)
    broker.close()


class Dramatiq:
    def __init__(self, broker: Any, wish: Wish) -> None:
        self._broker, self._wish = broker, wish
        self._do: Do | None = None

        @dramatiq.actor(actor_name="work")  # type: ignore[untyped-decorator]
        def work(order: dict[str, Any]) -> None:
            assert self._do is not None
            self._do(order)

        self._actor = work

    async def install(self) -> None:
        pass

    async def enqueue(self, order: Order) -> None:
        self._actor.send(order.model_dump())

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        """It has no bulk: one after the other."""
        for order in some:
            self._actor.send(order.model_dump())

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        self._do = do
        worker = dramatiq.Worker(self._broker, worker_threads=self._wish["threads"])
        worker.start()
        yield
        worker.stop()


if __name__ == "__main__":
    play_peer(opened)
