"""txoutbox's side of the wake-up benchmark: the same lines as `todoke_side`.

Runs in an environment of its own, where there is no todoke, and takes its packages by name, since
the type checker cannot see them.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module
from time import monotonic_ns
from typing import Any

from bench.child import say
from bench.peers.event import Measured

asyncpg = import_module("asyncpg")
txoutbox = import_module("txoutbox")
storage_module = import_module("txoutbox.adapters.postgres")


async def main() -> None:
    role, url = sys.argv[1:3]
    async with asyncpg.create_pool(url, min_size=3, max_size=10) as pool:
        storage = storage_module.PostgresStorage(pool, notify_channel="outbox", delete_on_ack=True)
        await {"worker": work, "producer": produce}[role](storage)


async def work(storage: Any) -> None:
    await storage.create_schema()

    async def note(message: Any) -> None:
        say(Measured.model_validate_json(message.payload).order_id, monotonic_ns())

    # As the authors document it, with room for as many at once as todoke has slots.
    relay = txoutbox.Relay(
        storage, note, config=txoutbox.RelayConfig(batch_size=16, concurrency=16)
    )
    listener = await storage.listen(relay.wake)
    async with relay:
        say("ready")
        await line()
    await listener.close()


async def produce(storage: Any) -> None:
    say("ready")
    async with storage.pool.acquire() as connection:
        while found := await line():
            number, hold = found.split()
            async with connection.transaction():
                body = Measured(order_id=int(number)).model_dump_json()
                await storage.insert(connection, "bench.measured", body, key=number)
                if float(hold):
                    await asyncio.sleep(float(hold))
            say(number, monotonic_ns())


async def line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(main())
