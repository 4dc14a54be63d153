"""Trying again what lost a deadlock: a few times, soon, and not all at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from time import sleep
from typing import TypeVar

R = TypeVar("R")
Passes = Callable[[BaseException], bool]

_PAUSES = (0.01, 0.03, 0.1, 0.2, 0.4)


def again(work: Callable[[], R], passes: Passes, random: Random) -> R:
    for pause in _jittered(random):
        try:
            return work()
        except Exception as error:
            if not passes(error):
                raise
        sleep(pause)
    return work()


async def again_async(work: Callable[[], Awaitable[R]], passes: Passes, random: Random) -> R:
    for pause in _jittered(random):
        try:
            return await work()
        except Exception as error:
            if not passes(error):
                raise
        await asyncio.sleep(pause)
    return await work()


def _jittered(random: Random) -> Iterator[float]:
    return (pause * (0.5 + random.random()) for pause in _PAUSES)
