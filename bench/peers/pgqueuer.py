"""PgQueuer, a job queue: what its authors document, in its own environment."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

from bench.child import Tally, Wish, wait_for_go, wait_for_the_end
from bench.peers.event import Measured
from bench.peers.playing import play_async, timed

asyncpg = import_module("asyncpg")
pgqueuer_db = import_module("pgqueuer.db")
pgqueuer_qm = import_module("pgqueuer.qm")
pgqueuer_queries = import_module("pgqueuer.queries")

ENTRYPOINT = "measured"


async def queries(wish: Wish) -> Any:
    connection = await asyncpg.connect(wish["dsn"])
    return pgqueuer_queries.Queries(pgqueuer_db.AsyncpgDriver(connection))


async def prepare(wish: Wish) -> None:
    queue = await queries(wish)
    await queue.install()
    await _enqueue_many(queue, range(wish["events"]), 1000)


async def publish(wish: Wish) -> None:
    queue = await queries(wish)

    async def one_by_one() -> None:
        for number in range(wish["events"]):
            await queue.enqueue(ENTRYPOINT, _body(number))

    await timed(one_by_one)


async def bulk(wish: Wish) -> None:
    queue = await queries(wish)
    await timed(lambda: _enqueue_many(queue, range(wish["events"]), wish["each"]))


async def _enqueue_many(queue: Any, numbers: range, each: int) -> None:
    for start in numbers[::each]:
        some = [_body(number) for number in numbers[start : start + each]]
        await queue.enqueue([ENTRYPOINT] * len(some), some, [0] * len(some))


async def drain(wish: Wish) -> None:
    queue, tally, validates = await queries(wish), Tally(wish), wish["validates"]
    manager = pgqueuer_qm.QueueManager(queue)

    @manager.entrypoint(ENTRYPOINT)  # type: ignore[untyped-decorator]
    async def handle(job: Any) -> None:
        if validates:
            Measured.model_validate_json(job.payload)
        tally.add()

    wait_for_go()
    work = asyncio.create_task(manager.run(batch_size=wish["batch"]))
    await asyncio.to_thread(wait_for_the_end)
    manager.shutdown.set()
    await work


def _body(number: int) -> bytes:
    return Measured(order_id=number).model_dump_json().encode()


if __name__ == "__main__":
    play_async({"prepare": prepare, "publish": publish, "bulk": bulk, "drain": drain})
