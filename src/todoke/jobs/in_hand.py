"""Runs that are in this process's hands."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from todoke.clock import Clock
from todoke.jobs.run import Run
from todoke.jobs.ties import Ties
from todoke.work.call import Call
from todoke.work.item import Item

_AT_ONCE = 0.1
"""Seconds between claim and call that make no difference to those who look."""


@dataclass(slots=True, eq=False)
class RunInHand:
    """One call of a job: when it came, and what was written of it."""

    call: Call
    ties: Ties
    came: float
    id: UUID | None = None
    """Of its row; drawn when first needed, which it seldom is."""
    noted: bool = False
    """A row says that it runs."""
    changes: int = 0
    """How much of what it told is in that row."""
    ended: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held by who writes its row."""

    @property
    def began_at_once(self) -> bool:
        """The moment of its claim tells when it began."""
        started = self.call.started
        return started is not None and started - self.came < _AT_ONCE

    def identity(self, drawn: UUID) -> UUID:
        """The id of its row: its Run's, or else this; asked for by who holds its lock."""
        if self.id is None:
            self.id = drawn if self.run is None else self.run.id
        return self.id

    @property
    def run(self) -> Run | None:
        """What it has told, where it was asked for at all."""
        told = self.call.described
        return told if isinstance(told, Run) else None

    def at(self, monotonic: float) -> datetime:
        """A moment by the database's time: counted from that of its claim."""
        return self.call.item.claimed_at + timedelta(seconds=monotonic - self.came)


class RunsInHand:
    """By row; the worker's thread adds and removes, the reporter reads."""

    def __init__(self, clock: Clock) -> None:
        self.clock: Clock = clock
        self._runs: dict[int, RunInHand] = {}

    def take(self, call: Call, ties: Ties) -> RunInHand:
        run = RunInHand(call, ties, self.clock.monotonic())
        self._runs[call.item.id] = run
        return run

    def find(self, item: Item) -> RunInHand | None:
        """The run of this very attempt."""
        run = self._runs.get(item.id)
        return run if run is not None and run.call.item.attempt == item.attempt else None

    def leave(self, item: Item) -> None:
        if self.find(item) is not None:
            del self._runs[item.id]

    def all(self) -> list[RunInHand]:
        return list(self._runs.values())
