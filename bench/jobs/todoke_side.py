"""todoke's jobs as they are measured: fresh tables, enqueueing, and a worker process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from time import monotonic_ns
from typing import Any

import asyncpg

from bench.child import Tally, Wish, say, timed, wait_for_go, wait_for_the_end
from bench.order import Order, chunks, orders
from bench.todoke_side import HANDLES, application
from todoke import Todoke
from todoke.runtime import Runtime, spare_the_collector

NAME = "work"


def prepare(wish: Wish) -> None:
    """Tables with a backlog, the same for todoke and for the raw loops."""
    app = application(wish)
    work = declare_async(app, lambda _: None)
    app.migrate()
    if wish["events"]:
        with app.engine.begin() as connection:
            work.enqueue_all(connection, orders(wish["events"]))
    app.close()


def enqueue(wish: Wish) -> None:
    if wish.get("handle") == "asyncpg":
        _enqueue_by_asyncpg(wish)
        return
    app = application(wish)
    work, begin = declare_async(app, lambda _: None), HANDLES[wish.get("handle", "connection")]

    def one_by_one() -> None:
        with begin(app) as transaction:
            for order in orders(wish["events"]):
                with transaction() as handle:
                    work.enqueue(handle, order)

    timed(one_by_one)
    app.close()


def _enqueue_by_asyncpg(wish: Wish) -> None:
    """On the driver that the quickest of the peers uses."""
    app = application(wish)
    work = declare_async(app, lambda _: None)

    async def one_by_one(connection: Any) -> None:
        for order in orders(wish["events"]):
            async with connection.transaction():
                await work.enqueue(connection, order)

    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(wish["dsn"]))
        timed(lambda: runner.run(one_by_one(connection)))
        runner.run(connection.close())
    app.close()


def bulk(wish: Wish) -> None:
    app = application(wish)
    work, begin = declare_async(app, lambda _: None), HANDLES[wish.get("handle", "connection")]

    def many_at_once() -> None:
        with begin(app) as transaction:
            for some in chunks(orders(wish["events"]), wish["each"]):
                with transaction() as handle:
                    work.enqueue_all(handle, some)

    timed(many_at_once)
    app.close()


def drain(wish: Wish) -> None:
    app, tally = application(wish), Tally(wish)
    if wish.get("handler") == "thread":
        declare_thread(app, lambda _: tally.add_in_thread())
    else:
        declare_async(app, lambda _: tally.add())
    runtime = Runtime(app)
    spare_the_collector()  # as `todoke worker` does
    wait_for_go()
    process = runtime.start()
    wait_for_the_end()
    process.stop(5)
    app.close()


def worker(wish: Wish) -> None:
    app = application(wish)
    declare_async(app, lambda order: say(order.order_id, monotonic_ns()))
    spare_the_collector()
    process = Runtime(app).start()
    say("ready")
    wait_for_the_end()
    process.stop(5)
    app.close()


def producer(wish: Wish) -> None:
    app = application(wish)
    work = declare_async(app, lambda _: None)
    say("ready")
    with app.engine.connect() as connection:
        for line in sys.stdin:
            work.enqueue(connection, Order(order_id=int(line)))
            connection.commit()
            say(int(line), monotonic_ns())
    app.close()


def declare_async(app: Todoke, do: Callable[[Order], object]) -> Any:
    @app.job(name=NAME)
    async def work(order: Order) -> None:
        do(order)

    return work


def declare_thread(app: Todoke, do: Callable[[Order], object]) -> Any:
    @app.job(name=NAME)
    def work(order: Order) -> None:
        do(order)

    return work


ROLES = {
    "prepare": prepare,
    "enqueue": enqueue,
    "bulk": bulk,
    "drain": drain,
    "worker": worker,
    "producer": producer,
}
