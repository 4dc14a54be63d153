"""What users say about unique jobs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypeAlias

from todoke.duration import Duration, duration
from todoke.errors import InvalidOption

Repeat: TypeAlias = Literal["return", "skip", "raise", "replace"]
REPEATS = ("return", "skip", "raise", "replace")


@dataclass(frozen=True, slots=True, init=False)
class Unique:
    """One job per key: `within` a time from its enqueueing, or else until it has ended.

    A repeat is given the first one (`return`), dropped (`skip`), refused (`raise`), or its
    argument, time and priority take the place of the first one's while that waits (`replace`).
    """

    key: str
    within: timedelta | None
    repeat: Repeat

    def __init__(
        self, key: str, *, within: Duration | None = None, repeat: Repeat = "return"
    ) -> None:
        if not isinstance(key, str) or not 0 < len(key) <= 255 or "\0" in key:
            raise InvalidOption("Unique(key)", key, "text of 1 to 255 characters.")
        if repeat not in REPEATS:
            raise InvalidOption("Unique(repeat)", repeat, f"one of {', '.join(REPEATS)}.")
        length = None if within is None else duration(within, "Unique(within)")
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "within", length)
        object.__setattr__(self, "repeat", repeat)


def unique_of(wish: str | Unique | None) -> Unique | None:
    return Unique(wish) if isinstance(wish, str) else wish
