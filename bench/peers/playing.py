"""The same as `bench.child` for peers that are async throughout."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from time import monotonic_ns
from typing import Any

from bench.child import Wish, play, say, wait_for_go


def play_async(roles: Mapping[str, Callable[[Wish], Coroutine[Any, Any, None]]]) -> None:
    def run(role: Callable[[Wish], Coroutine[Any, Any, None]], wish: Wish) -> None:
        asyncio.run(role(wish))

    play({name: partial(run, role) for name, role in roles.items()})


async def timed(publish: Callable[[], Awaitable[None]]) -> None:
    """Says how many nanoseconds it took."""
    wait_for_go()
    started = monotonic_ns()
    await publish()
    say(monotonic_ns() - started)
