"""The layers of middleware around a call; they are async, whatever the handler is."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from todoke.outcome import Outcome
from todoke.work.attempt import Attempt
from todoke.work.handler import CallNext, Middleware

T = TypeVar("T")


def chain(middleware: tuple[Middleware, ...], innermost: CallNext) -> CallNext:
    chained = innermost
    for layer in reversed(middleware):
        chained = _layer(layer, chained)
    return chained


def _layer(layer: Middleware, inner: CallNext) -> CallNext:
    async def call(attempt: Attempt) -> Outcome:
        return await layer(attempt, inner)

    return call


@contextmanager
def outside_of_loops() -> Iterator[None]:
    """A `def` handler inside middleware may do what a loop's thread may not: `asyncio.run`, block.

    Django's ORM refuses to work where it sees a running loop.
    """
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


def own_loop(work: Coroutine[Any, Any, T]) -> T:
    # A handler thread's own loop: middleware is async, the handler it wraps is not and may block.
    with asyncio.Runner() as runner:
        return runner.run(work)
