"""What a judge of a run complains of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    invariant: str
    event: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.event}: {self.what}"
