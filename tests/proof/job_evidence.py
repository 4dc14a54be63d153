"""What a run leaves behind of its jobs, seen from outside.

A job is known by its argument: which wish of a client it is of, and which part of it. Nobody
enqueues the same twice, so of each there is at most one, however it came to be enqueued. Only what
follows a batch comes again when members are redriven: its later ones are known by a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

THEN, FAILED = "then", "failed"


def chunk_name(number: int) -> str:
    """What a chunk of a job writes its effect as."""
    return f"walk-{number}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A client enqueued these together: one after the other, or with what follows them all."""

    case: int
    kind: Literal["chain", "batch"]
    parts: tuple[str, ...]

    def follower(self, which: str) -> str:
        return f"{self.case}/{which}"


@dataclass(frozen=True, slots=True)
class Repeated:
    """A client was told that this key was taken, and by which id."""

    key: str
    first: str


@dataclass(frozen=True, slots=True)
class Ran:
    """A run as the view of all runs tells it."""

    row: int
    status: str
    worker: str | None
    code: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """What the database has counted of a batch."""

    case: int
    total: int
    pending: int
    failed: int
    ended: bool


@dataclass
class JobEvidence:
    planned: list[Planned] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)
    rows: dict[int, str] = field(default_factory=dict)
    """Which job a row is, wherever it was found."""
    ids: dict[str, str] = field(default_factory=dict)
    """Which job an id is."""
    keys: dict[str, str] = field(default_factory=dict)
    """Under which unique key a job was enqueued."""
    taken: list[str] = field(default_factory=list)
    """Whose unique keys are taken at the end."""
    runs: list[Ran] = field(default_factory=list)
    batches: list[Counted] = field(default_factory=list)
    off: set[str] = field(default_factory=set)
    """Those whose job is switched off: they are skipped, which is no success."""
    chunks: dict[str, int] = field(default_factory=dict)
    """Into how many chunks a job is cut."""
