"""What a run leaves behind, seen from outside: by its clients, its handlers, and the database.

Nothing here is written by the code under test. Clients say what they were answered, handlers say
when they were called, and triggers in the database witness every claim and every ending.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tests.proof.job_evidence import JobEvidence

Told = Literal["ok", "fail", "unknown"]
What = Literal["enqueued", "claimed", "freed", "processed", "died"]


@dataclass(frozen=True, slots=True)
class Published:
    """A client published this and was told that it is committed, is not, or was told nothing."""

    event: str
    kind: str
    body: str
    told: Told
    key: str = ""
    accepted: bool = False
    """Together with a key of the ledger, whose entry it settles."""


@dataclass(frozen=True, slots=True)
class Called:
    """A handler was called with an event; the token is drawn anew for each call."""

    event: str
    handler: str
    token: str


@dataclass(frozen=True, slots=True)
class Witnessed:
    """The database saw a row of a work table being claimed, freed, or ended; a job, enqueued."""

    what: What
    place: str
    row: int
    owner: str | None
    attempt: int
    state: str | None = None
    by: str | None = None
    strand: int = 0
    """Told of ordered rows that are claimed or freed."""


@dataclass(frozen=True, slots=True)
class Living:
    event: str
    handler: str | None


@dataclass(frozen=True, slots=True)
class Settled:
    event: str
    handler: str | None


@dataclass(frozen=True, slots=True)
class Letter:
    event: str
    handler: str | None
    body: str
    error_class: str
    code: str
    message: str
    traceback: str
    attempts: int
    redriven: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """A row that a handler wrote through its injected session."""

    event: str
    handler: str
    token: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger says of the event that settles an entry."""

    event: str
    state: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What should become of an event of one kind at one handler."""

    handler: str
    uses_session: bool = False
    may_die_of: frozenset[str] = frozenset()
    must_die: bool = False
    is_off: bool = False
    """Settled without being called: its job is switched off."""


@dataclass
class Evidence:
    """Everything the verifier may look at."""

    expected: dict[str, list[Expected]]
    published: list[Published] = field(default_factory=list)
    called: list[Called] = field(default_factory=list)
    witnessed: list[Witnessed] = field(default_factory=list)
    living: list[Living] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    jobs: JobEvidence = field(default_factory=JobEvidence)
