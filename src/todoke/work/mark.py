"""Where the next claim of rows without order begins.

A settled row stays in the claim index until no transaction can see it any more. While an old one is
open, each claim from the beginning walks past all that was settled since. So while claims come back
full, the next begins behind the last; and now and then from the beginning, since rows come into
sight in the order of commits, not of ids, and some come back. Where order is kept there are no
marks: behind one, the follower of a row that came into sight late would overtake it.

Behind rows that are less urgent than others before them, what is urgent would wait for that: there
each claim begins from the beginning, unless that takes long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from todoke.work.item import Item

Place: TypeAlias = tuple[int, int]
"""Priority and id of a row that a claim begins behind."""

BEGINNING: Place = (-32768, 0)
_LEAST_URGENT = 32767
_AT_LEAST, _AT_MOST = 1.0, 30.0
_FULL_SHARE = 0.002
"""How much of the time looks from the beginning may take while there is a backlog."""
_SLOW, _SLOW_SHARE = 0.005, 0.02
"""The same while there is none, for looks that take longer; others may be as many as needed."""


class Mark:
    """How far the claims of one stream have come."""

    def __init__(self) -> None:
        self._place, self._most_urgent = BEGINNING, _LEAST_URGENT
        self._looked, self._took, self._found_all = float("-inf"), 0.0, True
        self._last_took = 0.0

    def start(self, now: float) -> Place:
        if now >= self._looked + self._pause:
            self._place = BEGINNING
        return self._place

    def note(self, items: Sequence[Item], began: float, ended: float, *, full: bool) -> bool:
        """Take note of a claim; True when there is nothing more to be had for now."""
        is_whole = self._place == BEGINNING
        if items:
            self._place = (items[-1].priority, items[-1].id)
            self._most_urgent = min(self._most_urgent, items[0].priority)
        if is_whole:
            self._looked, self._found_all = ended, not full
            # Twice in a row: a single one may have waited for a lock, or its process stood still.
            self._took = min(self._last_took, ended - began)
            self._last_took = ended - began
        if full:
            return False
        if not self._is_slow:
            self._place = BEGINNING
        return is_whole or self._is_slow

    def look_back(self, priority: int, id: int) -> None:
        """This row came back: begin no later than at it."""
        self._place = min(self._place, (priority, id - 1))

    @property
    def _is_slow(self) -> bool:
        return self._took > _SLOW

    @property
    def _pause(self) -> float:
        """Seconds between looks from the beginning."""
        is_below = self._place[0] > self._most_urgent
        if self._found_all or is_below:
            return min(self._took / _SLOW_SHARE, _AT_MOST) if self._is_slow else 0.0
        return min(max(_AT_LEAST, self._took / _FULL_SHARE), _AT_MOST)
