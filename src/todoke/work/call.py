"""A message on its way through a handler, and what came of it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from todoke.errors import Cancelled
from todoke.work.attempt import Attempt
from todoke.work.handler import Handler
from todoke.work.item import Item
from todoke.work.settle import Settling
from todoke.work.settlement import Settlement


@dataclass(slots=True)
class InOwnTransaction:
    """The handler's transaction has settled the message already."""

    item: Item


@dataclass(slots=True)
class Fenced:
    """Another attempt owns the message by now; nothing was written."""

    item: Item


Answer = Settlement | InOwnTransaction | Fenced


@dataclass(slots=True, eq=False)
class Call:
    """A message, the handler it goes to, and what the handler is given."""

    item: Item
    handler: Handler
    event: Any
    settling: Settling
    owner: UUID
    describe: Callable[[Call], Attempt]
    values: dict[str, Any] = field(default_factory=dict)
    needs_attempt_scope: bool = False
    started: float | None = None
    given_up: bool = False
    waits: bool = True
    withheld: Callable[[], bool] | None = None
    probe: bool = False
    session_mark: Any = None
    turn: deque[threading.Lock] | None = None
    cancelled: Cancelled | None = None
    interrupt: Callable[[], None] | None = None
    """Ends a call on the event loop; there while it runs."""
    _attempt: Attempt | None = None

    @property
    def described(self) -> Attempt | None:
        """The attempt, if anybody asked for it."""
        return self._attempt

    @property
    def attempt(self) -> Attempt:
        """Made when first asked for: most handlers ask for the event only."""
        if self._attempt is None:
            self._attempt = self.describe(self)
        return self._attempt

    def cancel(self, why: Cancelled) -> None:
        """From another thread: on the event loop it ends, elsewhere at its next `check`."""
        self.cancelled, interrupt = why, self.interrupt
        if interrupt is not None:
            interrupt()

    def pass_turn(self) -> None:
        """Let the next one write: called by the one who had it, or by who gave that one up."""
        if self.turn is not None:
            with suppress(IndexError):
                self.turn.pop().release()

    def overdue(self, now: float) -> bool:
        """What ends by itself at its limit gets here only if it blocks."""
        grace = 5.0 if self.handler.ends_itself else 0.0
        return self.started is not None and now - self.started > self.handler.timeout + grace
