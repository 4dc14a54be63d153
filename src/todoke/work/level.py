"""Whose turn it is among priorities: the most urgent's, and now and then the others'.

A claim takes the most urgent first. While claims come back full, what is less urgent than all they
come to would wait for ever. So every fifth of them takes from there, each time beginning at the
next priority: of so many priorities, each has its turn after five times as many claims.
"""

from __future__ import annotations

from collections.abc import Sequence

from todoke.work.item import Item
from todoke.work.mark import Place

_EVERY = 5
_LOOK_AGAIN = 1.0
"""Seconds after which it is looked again for others where there were none."""
_LAST_ID = 2**63 - 1


class Levels:
    """How often the most urgent were served, and who of the others comes next."""

    def __init__(self) -> None:
        self._served, self._floor = 0, 0
        self._last: int | None = None
        self._next_look = 0.0

    def start(self, now: float) -> Place | None:
        """What the others' claim begins behind, if it is their turn."""
        if self._served < _EVERY - 1 or now < self._next_look:
            return None
        return self._behind, _LAST_ID

    def note(self, items: Sequence[Item], *, full: bool) -> None:
        """Take note of a claim of the most urgent."""
        self._served = self._served + 1 if full else 0
        if items:
            self._floor = items[-1].priority

    def note_others(self, items: Sequence[Item], now: float) -> None:
        """Take note of a claim of the others."""
        if items:
            self._served, self._last = 0, items[0].priority
        elif self._behind > self._floor:
            self._last = None  # that was the end: from the first of them again
        else:
            self._next_look = now + _LOOK_AGAIN

    @property
    def _behind(self) -> int:
        return self._floor if self._last is None else max(self._last, self._floor)
