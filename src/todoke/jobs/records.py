"""Jobs and their runs as people see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

PENDING, PROCESSING, PROCESSED = "PENDING", "PROCESSING", "PROCESSED"
DEAD, CANCELLED = "DEAD", "CANCELLED"
STATUSES = (PENDING, PROCESSING, PROCESSED, DEAD, CANCELLED)


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job, wherever it is by now."""

    id: UUID
    job: str
    context: str
    queue: str
    status: str
    priority: int
    argument: str
    """As JSON; personal fields are in it."""
    attempts: int
    max_attempts: int | None
    error_code: str | None
    error_message: str | None
    note: str | None
    created_at: datetime
    scheduled_at: datetime | None
    settled_at: datetime | None
    worker: str | None
    processed: int | None
    """How much of `total` its run has done; of a job that waits there is none."""
    total: int | None
    schedule: str | None
    tick: datetime | None
    unique: str | None
    batch: UUID | None
    why_waiting: str | None = None

    @property
    def error(self) -> str | None:
        """What its last attempt failed with."""
        return f"{self.error_code}: {self.error_message}" if self.error_code else None

    @property
    def has_ended(self) -> bool:
        return self.status not in (PENDING, PROCESSING)


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One attempt at a job: RUNNING, SUCCEEDED, FAILED or SKIPPED."""

    id: UUID
    job_id: UUID
    job: str
    context: str
    env: str
    attempt: int
    status: str
    worker: str | None
    started_at: datetime | None
    finished_at: datetime | None
    processed: int | None = None
    total: int | None = None
    metrics: Mapping[str, float] = field(default_factory=dict)
    log: Sequence[str] = ()
    """Its last lines."""
    result: str | None = None
    """As JSON; personal fields are in it."""
    note: str | None = None
    error_class: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_traceback: str | None = None
    schedule: str | None = None
    tick: datetime | None = None


@dataclass(frozen=True, slots=True)
class JobCounts:
    """What there is of one job in one queue."""

    context: str
    queue: str
    job: str
    ready: int = 0
    """May be claimed, or waits to run alone."""
    later: int = 0
    held: int = 0
    """Its key is full, or it was paused when a worker came to it."""
    running: int = 0
    oldest: timedelta | None = None
    """How long the oldest that is ready has been due."""
    paused: str | None = None


@dataclass(frozen=True, slots=True)
class JobOperation:
    """What a person did to one job."""

    id: int
    kind: str
    selected: int
    done: int
    """0 of a cancelled job that runs: its worker was asked to end it."""
    job: UUID
    """What runs because of it, or is to end."""
