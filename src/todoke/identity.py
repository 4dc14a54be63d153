"""Ids: UUIDv7, made by the caller, so that an outcome can be read back after a lost reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from threading import Lock
from uuid import UUID

from todoke.clock import Clock

RandomBits = Callable[[int], int]


class Identities:
    """Draws UUIDv7 ids that sort by time; within one process strictly so."""

    def __init__(self, clock: Clock, random_bits: RandomBits) -> None:
        self._clock, self._random_bits = clock, random_bits
        self._last, self._lock = 0, Lock()

    def draw(self) -> UUID:
        milliseconds = int(self._clock.now().timestamp() * 1000)
        # 12 bits below the millisecond count up, so that ids of one burst keep their order.
        with self._lock:
            moment = max(milliseconds << 12 | self._random_bits(10), self._last + 1)
            self._last = moment
        return UUID(
            int=(moment >> 12) << 80
            | 0x7 << 76
            | (moment & 0xFFF) << 64
            | 0b10 << 62
            | self._random_bits(62)
        )


def kebab(name: str) -> str:
    """OrderConfirmed, order_confirmed, ORDER_CONFIRMED -> order-confirmed."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return words.replace("_", "-").lower()


def screaming(name: str) -> str:
    """ConnectionRefusedError -> CONNECTION_REFUSED_ERROR."""
    return kebab(name).replace("-", "_").upper()
