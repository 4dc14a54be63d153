"""Celery on Redis: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Wish
from bench.order import Order
from bench.peers.jobs.peer import Do, play_peer

celery = import_module("celery")
platforms = import_module("celery.platforms")
state: Any = import_module("celery.worker.state")
warnings.simplefilter("ignore", platforms.SecurityWarning)  # of root, whom our servers may have


@asynccontextmanager
async def opened(wish: Wish) -> AsyncIterator[Celery]:
    app = celery.Celery("bench", broker=wish["redis"], set_as_current=False)
    app.conf.update(
        task_ignore_result=True,
        task_acks_late=True,  # done is done, as with all others
        worker_prefetch_multiplier=wish.get("prefetch", 64),
        worker_redirect_stdouts=False,  # our lines are not its log's
        broker_connection_retry_on_startup=True,
    )
    with app.producer_or_acquire() as producer:
        producer.connection.ensure_connection()  # connected before it counts
    yield Celery(app, wish)
    app.close()


class Celery:
    def __init__(self, app: Any, wish: Wish) -> None:
        self._app, self._wish = app, wish
        self._do: Do | None = None

        @app.task(name="work")  # type: ignore[untyped-decorator]
        def work(order: dict[str, Any]) -> None:
            assert self._do is not None
            self._do(order)

        self._task = work

    async def install(self) -> None:
        pass

    async def enqueue(self, order: Order) -> None:
        self._task.delay(order.model_dump())

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        """It has no bulk: one after the other, on one connection."""
        with self._app.producer_or_acquire() as producer:
            for order in some:
                self._task.apply_async((order.model_dump(),), producer=producer)

    @asynccontextmanager
    async def working(self, do: Do) -> AsyncIterator[None]:
        self._do = do
        worker = self._app.Worker(
            pool=self._wish.get("pool", "solo"),
            concurrency=1,
            quiet=True,
            loglevel="ERROR",
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        running = asyncio.create_task(asyncio.to_thread(worker.start))
        yield
        state.should_stop = 0  # as its handlers of signals do
        await running


if __name__ == "__main__":
    play_peer(opened)
