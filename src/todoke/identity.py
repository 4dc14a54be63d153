"""Ids: UUIDv7, made by the caller, so that an outcome can be read back after a lost reply."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from threading import Lock
from uuid import UUID

from todoke.clock import Clock

RandomBits = Callable[[int], int]
_NOISE = (1 << 62) - 1


class Identities:
    """Draws UUIDv7 ids that sort by time; within one process strictly so."""

    def __init__(self, clock: Clock, random_bits: RandomBits) -> None:
        self._clock, self._random_bits = clock, random_bits
        self._last, self._lock = 0, Lock()

    def draw(self) -> UUID:
        return self.draw_many(1)[0]

    def draw_many(self, count: int) -> list[UUID]:
        """So many, each later than the one before."""
        milliseconds = int(self._clock.now().timestamp() * 1000)
        bits = self._random_bits(64 * count + 10)  # at once: each time the system is asked
        # 12 bits below the millisecond count up, so that ids of one burst keep their order.
        with self._lock:
            first = max(milliseconds << 12 | bits & 0x3FF, self._last + 1)
            self._last = first + count - 1
        noise = memoryview((bits >> 10).to_bytes(8 * count, "big")).cast("Q")
        return [_version_7(first + number, one) for number, one in enumerate(noise)]


def first_at(moment: datetime) -> UUID:
    """The first id that can have been drawn at this moment."""
    return _version_7(int(moment.timestamp() * 1000) << 12, 0)


def _version_7(moment: int, noise: int) -> UUID:
    high = (moment >> 12) << 16 | 0x7 << 12 | moment & 0xFFF
    return UUID(int=high << 64 | 0b10 << 62 | noise & _NOISE)


def kebab(name: str) -> str:
    """OrderConfirmed, order_confirmed, ORDER_CONFIRMED -> order-confirmed."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return words.replace("_", "-").lower()


def screaming(name: str) -> str:
    """ConnectionRefusedError -> CONNECTION_REFUSED_ERROR."""
    return kebab(name).replace("-", "_").upper()
