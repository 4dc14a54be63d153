"""Trying again what lost a deadlock: a few times, soon, and not all at the same moment."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from time import sleep
from typing import TypeVar

R = TypeVar("R")

_PAUSES = (0.01, 0.03, 0.1, 0.2, 0.4)


def again(work: Callable[[], R], passes: Callable[[BaseException], bool], random: Random) -> R:
    for pause in _PAUSES:
        try:
            return work()
        except Exception as error:
            if not passes(error):
                raise
        sleep(pause * (0.5 + random.random()))
    return work()
