"""Procrastinate, a job queue: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any

from bench.child import Tally, Wish, wait_for_go, wait_for_the_end
from bench.peers.event import Measured
from bench.peers.playing import play_async, timed

procrastinate = import_module("procrastinate")
logging.getLogger("procrastinate").setLevel(logging.ERROR)  # it warns of apps in a main module


@asynccontextmanager
async def opened(wish: Wish, tally: Tally | None = None) -> AsyncIterator[Any]:
    connector = procrastinate.PsycopgConnector(conninfo=wish["dsn"])
    app = procrastinate.App(connector=connector)
    validates = wish.get("validates")

    @app.task(name="measured")  # type: ignore[untyped-decorator]
    async def measured(**order: Any) -> None:
        if validates:
            Measured.model_validate(order)
        if tally is not None:
            tally.add()

    async with app.open_async():
        yield app


async def prepare(wish: Wish) -> None:
    async with opened(wish) as app:
        await app.schema_manager.apply_schema_async()
        await _defer_many(app, range(wish["events"]), 1000)


async def publish(wish: Wish) -> None:
    async with opened(wish) as app:
        task = app.tasks["measured"]

        async def one_by_one() -> None:
            for number in range(wish["events"]):
                await task.defer_async(**_order(number))

        await timed(one_by_one)


async def bulk(wish: Wish) -> None:
    async with opened(wish) as app:
        await timed(lambda: _defer_many(app, range(wish["events"]), wish["each"]))


async def _defer_many(app: Any, numbers: range, each: int) -> None:
    task = app.tasks["measured"]
    for start in numbers[::each]:
        some = [_order(number) for number in numbers[start : start + each]]
        await task.batch_defer_async(*some)


async def drain(wish: Wish) -> None:
    async with opened(wish, Tally(wish)) as app:
        wait_for_go()
        work = asyncio.create_task(
            app.run_worker_async(concurrency=wish["batch"], install_signal_handlers=False)
        )
        await asyncio.to_thread(wait_for_the_end)
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work


def _order(number: int) -> dict[str, Any]:
    return Measured(order_id=number).model_dump(mode="json")


if __name__ == "__main__":
    play_async({"prepare": prepare, "publish": publish, "bulk": bulk, "drain": drain})
