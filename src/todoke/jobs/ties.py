"""What a job is tied to: its unique key, its batch, what follows it, the tick it is for.

Kept in the row's headers, so that a job without ties costs nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from todoke import codec


@dataclass(frozen=True, slots=True)
class Ties:
    unique: str | None = None
    """The key that is its own until it has ended."""
    batch: UUID | None = None
    then: tuple[dict[str, Any], ...] = ()
    """Calls that follow, one after the other; the first is enqueued when this job succeeds."""
    schedule: str | None = None
    tick: datetime | None = None
    missed: bool = False

    def text(self) -> str | None:
        """None where there are none."""
        told: dict[str, Any] = {}
        if self.unique is not None:
            told["unique"] = self.unique
        if self.batch is not None:
            told["batch"] = str(self.batch)
        if self.then:
            told["then"] = list(self.then)
        if self.schedule is not None:
            told["schedule"] = self.schedule
        if self.tick is not None:
            told["tick"] = self.tick.astimezone(UTC).isoformat()
        if self.missed:
            told["missed"] = True
        return codec.dump(told) if told else None


NONE = Ties()


def ties_of(headers: str | None) -> Ties:
    if not headers:
        return NONE
    told = codec.load_object(headers)
    return Ties(
        unique=told.get("unique"),
        batch=UUID(told["batch"]) if "batch" in told else None,
        then=tuple(told.get("then", ())),
        schedule=told.get("schedule"),
        tick=datetime.fromisoformat(told["tick"]) if "tick" in told else None,
        missed=bool(told.get("missed")),
    )
