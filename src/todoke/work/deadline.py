"""The limits of calls on an event loop, by one timer.

One for each would cost more than a small handler does.
"""

from __future__ import annotations

import asyncio
from typing import Any, TypeAlias

_NEVER = float("inf")

Slot: TypeAlias = asyncio.Task[Any]


class Deadlines:
    """Interrupts what runs too long in a slot, as `asyncio.timeout` would; used on the loop only.

    A slot runs one call at a time, so it stands for its call.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due: dict[Slot, float] = {}
        self._next = _NEVER

    def begin(self, slot: Slot, seconds: float) -> None:
        loop = slot.get_loop()
        if loop is not self._loop:
            self._loop, self._timer, self._next = loop, None, _NEVER
        due = self._due[slot] = loop.time() + seconds
        if due < self._next:
            self._set_timer(loop, due)

    def end(self, slot: Slot) -> bool:
        """True when the call was interrupted."""
        if self._due.pop(slot, None) is not None:
            return False
        slot.uncancel()
        return True

    def interrupt(self, slot: Slot) -> None:
        """Now, not at its time."""
        if self._due.pop(slot, None) is not None:
            slot.cancel()

    def _set_timer(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = loop.call_at(due, self._interrupt, loop), due

    def _interrupt(self, loop: asyncio.AbstractEventLoop) -> None:
        now, self._next = loop.time(), _NEVER
        for slot in [slot for slot, due in self._due.items() if due <= now]:
            del self._due[slot]
            slot.cancel()
        if self._due:
            self._set_timer(loop, min(self._due.values()))
