"""A job queue as it is measured: what each must be able to do, and the roles made of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from time import monotonic_ns
from typing import Any, Protocol, TypeAlias

from bench.child import Tally, Wish, say, wait_for_go, wait_for_the_end
from bench.order import Order, chunks, orders
from bench.peers.playing import play_async, timed

Do: TypeAlias = Callable[[dict[str, Any]], None]
"""The job itself, in the event loop or in a thread: given its argument as it was stored."""
BACKLOG = 1000
"""Jobs per transaction while a backlog is made, before it counts."""


class Peer(Protocol):
    async def install(self) -> None:
        """Tables, where it has any."""

    async def enqueue(self, order: Order) -> None:
        """One job, committed when it returns."""

    async def enqueue_all(self, some: Sequence[Order]) -> None:
        """Many jobs, committed together if it can."""

    def working(self, do: Do) -> AbstractAsyncContextManager[None]:
        """A worker that runs meanwhile."""


Open: TypeAlias = Callable[[Wish], AbstractAsyncContextManager[Peer]]
Role: TypeAlias = Callable[[Wish], Coroutine[Any, Any, None]]


def play_peer(opened: Open) -> None:
    async def prepare(wish: Wish) -> None:
        async with opened(wish) as peer:
            await peer.install()
            for some in chunks(orders(wish["events"]), BACKLOG):
                await peer.enqueue_all(some)

    async def enqueue(wish: Wish) -> None:
        async with opened(wish) as peer:

            async def one_by_one() -> None:
                for order in orders(wish["events"]):
                    await peer.enqueue(order)

            await timed(one_by_one)

    async def bulk(wish: Wish) -> None:
        async with opened(wish) as peer:

            async def many_at_once() -> None:
                for some in chunks(orders(wish["events"]), wish["each"]):
                    await peer.enqueue_all(some)

            await timed(many_at_once)

    async def drain(wish: Wish) -> None:
        async with opened(wish) as peer:
            do = _counting(Tally(wish))
            wait_for_go()
            async with peer.working(do):
                await asyncio.to_thread(wait_for_the_end)

    async def worker(wish: Wish) -> None:
        async with opened(wish) as peer, peer.working(_telling):
            say("ready")
            await asyncio.to_thread(wait_for_the_end)

    async def producer(wish: Wish) -> None:
        async with opened(wish) as peer:
            say("ready")
            while number := await asyncio.to_thread(sys.stdin.readline):
                await peer.enqueue(Order(order_id=int(number)))
                say(int(number), monotonic_ns())

    roles: tuple[Role, ...] = (prepare, enqueue, bulk, drain, worker, producer)
    play_async({role.__name__: role for role in roles})


def _counting(tally: Tally) -> Do:
    def do(argument: dict[str, Any]) -> None:
        Order.model_validate(argument)
        tally.add_in_thread()

    return do


def _telling(argument: dict[str, Any]) -> None:
    moment = monotonic_ns()
    say(Order.model_validate(argument).order_id, moment)
