"""Wake-ups: a bell is rung after a commit, and an ear that hears it lets a worker look at once.

A ring is a hint. One that is lost or comes twice costs time, never an event: polling is the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol, TypeAlias

from todoke.hint import is_hint, without_lane

Hints: TypeAlias = frozenset[str]
"""Where to look (`todoke.hint`); an empty set means everywhere."""

OnRing: TypeAlias = Callable[[Hints], None]
Happened: TypeAlias = Callable[[], bool]

EVERYWHERE: Hints = frozenset()
SOMEBODY: Hints = frozenset({"?"})
"""Somebody has committed, perhaps the one who is woken: its own connection can tell."""

_STAR = "*"
_MOST_HINTS, _MOST_BYTES = 40, 7000  # PostgreSQL carries less than 8,000 bytes


class Bell(Protocol):
    """Tells workers that there is something to do; never waits, never raises."""

    def ring(self, hints: Collection[str], after: Happened | None = None) -> None:
        """Ring soon; with `after`, as soon as it answers True."""

    def close(self) -> None:
        """Ring what waits, within a second, let go of thread and connection until rung again."""


class Ear(Protocol):
    """Hears rings and passes them on from a thread of its own."""

    @property
    def works(self) -> bool | None:
        """Whether rings arrive; None as long as that is not known."""

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def try_once(self) -> float | None:
        """Seconds until a ring of its own was heard, None if it was not; instead of `start`.

        Raises an OSError where it could not be tried.
        """


class NullBell:
    """For databases whose ear needs no bell."""

    def ring(self, hints: Collection[str], after: Happened | None = None) -> None:
        pass

    def close(self) -> None:
        pass


class NullEar:
    """For databases that cannot call: the worker polls."""

    works: bool | None = False

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def try_once(self) -> float | None:
        return None


def pack(hints: Collection[str]) -> str:
    """Hints as one text; too many of them name no lanes, and still too many are "everywhere"."""
    if len(hints) > _MOST_HINTS:
        hints = {without_lane(hint) for hint in hints}
    text = "\n".join(sorted(hints))
    if not hints or len(hints) > _MOST_HINTS or len(text.encode()) > _MOST_BYTES:
        return _STAR
    return text


def unpack(text: str) -> Hints:
    """What nobody here has packed means everywhere, too: a channel is open to all."""
    hints = frozenset(text.split("\n"))
    return hints if all(is_hint(one) for one in hints) else EVERYWHERE
