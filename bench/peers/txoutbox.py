"""txoutbox, a relay: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from bench.child import Tally, Wish, wait_for_go, wait_for_the_end
from bench.peers.event import Measured
from bench.peers.playing import play_async, timed

asyncpg = import_module("asyncpg")
txoutbox = import_module("txoutbox")
postgres = import_module("txoutbox.adapters.postgres")


@asynccontextmanager
async def storage(wish: Wish) -> AsyncIterator[Any]:
    async with asyncpg.create_pool(wish["dsn"], min_size=3, max_size=10) as pool:
        options = wish.get("storage", {})
        yield postgres.PostgresStorage(pool, notify_channel="outbox", **options)


async def prepare(wish: Wish) -> None:
    async with storage(wish) as outbox:
        await outbox.create_schema()
        await _insert(outbox, range(wish["events"]), each=1000)


async def publish(wish: Wish) -> None:
    async with storage(wish) as outbox:
        await timed(lambda: _insert(outbox, range(wish["events"]), each=1))


async def bulk(wish: Wish) -> None:
    """It has no bulk insert: many inserts in one transaction."""
    async with storage(wish) as outbox:
        await timed(lambda: _insert(outbox, range(wish["events"]), each=wish["each"]))


async def _insert(outbox: Any, numbers: range, each: int) -> None:
    async with outbox.pool.acquire() as connection:
        for start in numbers[::each]:
            async with connection.transaction():
                for number in numbers[start : start + each]:
                    body = Measured(order_id=number).model_dump_json()
                    await outbox.insert(connection, "bench.measured", body, key=str(number))


async def drain(wish: Wish) -> None:
    tally, validates = Tally(wish), wish["validates"]

    async def handle(message: Any) -> None:
        if validates:
            Measured.model_validate_json(message.payload)
        tally.add()

    size = {"batch_size": wish["batch"], "concurrency": wish["batch"]}
    async with storage(wish) as outbox:
        relay = txoutbox.Relay(outbox, handle, config=txoutbox.RelayConfig(**size))
        listener = await outbox.listen(relay.wake)
        wait_for_go()
        async with relay:
            await asyncio.to_thread(wait_for_the_end)
        await listener.close()


if __name__ == "__main__":
    play_async({"prepare": prepare, "publish": publish, "bulk": bulk, "drain": drain})
