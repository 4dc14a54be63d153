"""One piece of living work, as a claim hands it out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from todoke.errors import ErrorClass
from todoke.work.strand import UNORDERED

READY, LATER, HELD, SUSPECT = "ready", "later", "held", "suspect"
"""Where a living row stands: to be claimed, not before its time, behind its key, alone only."""


class Item(NamedTuple):
    """A tuple, since thousands a second are made."""

    id: int
    message_id: UUID
    context: str
    stream: str
    priority: int
    type: str
    version: int
    aggregate: str
    key: str
    strand: int
    lane: int
    followers: str
    handler: str | None
    body: str
    headers: str | None
    trace_context: str | None
    attempt: int
    spared: int
    crashes: int
    alone: bool
    deliver_before: datetime | None
    settles: UUID | None
    created_at: datetime
    claimed_at: datetime

    @property
    def ordered(self) -> bool:
        return self.lane != UNORDERED

    @property
    def claim(self) -> tuple[int, int]:
        """The row and the attempt: the same row may be claimed again, and then is another's."""
        return self.id, self.attempt

    @property
    def number(self) -> int:
        """Which attempt this is, by what counts as one."""
        return self.attempt - self.spared


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt did not succeed, in the words of the dead letters."""

    error_class: ErrorClass
    code: str
    message: str
    traceback: str = ""
