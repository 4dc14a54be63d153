"""New jobs as rows: what is to be enqueued, now or when another has ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from todoke.jobs.ties import NONE, Ties
from todoke.jobs.unique import Unique
from todoke.work.item import LATER, READY
from todoke.work.row import Row
from todoke.work.strand import UNORDERED


class Spec(NamedTuple):
    """A job to be enqueued: all that its row needs, so that any process can write it."""

    job: str
    context: str
    stream: str
    priority: int
    body: str
    delay: float = 0.0
    key: str | None = None
    strand: int = 0

    def told(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Spec:
        return cls(**told)


class Mould(NamedTuple):
    """What jobs that are enqueued together have in common."""

    job: str
    context: str
    stream: str
    priority: int
    delay: float

    def spec(self, body: str, key: str | None, strand: int) -> Spec:
        job, context, stream, priority, delay = self
        return Spec(job, context, stream, priority, body, delay, key, strand)

    @property
    def shared(self) -> Mapping[str, Any]:
        *alike, delay = self
        return _shared(*alike, delayed=delay > 0)


class JobRow(Row):
    """A row with what is written before it: its key is taken, its batch is opened."""

    unique: Unique | None = None
    opens: Mapping[str, Any] | None = None
    ref: Any = None


def plain_row(
    shared: Mapping[str, Any], delay: float, id: UUID, body: str, key: str | None, strand: int
) -> JobRow:
    """The row of a job that is tied to no other."""
    return JobRow(
        shared, delay, True, id, key or "", strand, UNORDERED, body, None, None, None, None
    )


def row_of(spec: Spec, id: UUID, ties: Ties = NONE, *, trace: str | None = None) -> JobRow:
    delayed = spec.delay > 0
    shared = _shared(spec.job, spec.context, spec.stream, spec.priority, delayed=delayed)
    row = plain_row(shared, spec.delay, id, spec.body, spec.key, spec.strand)
    if ties is NONE and trace is None:
        return row
    return row._replace(headers=None if ties is NONE else ties.text(), trace_context=trace)


@lru_cache(maxsize=4096)
def _shared(
    job: str, context: str, stream: str, priority: int, *, delayed: bool
) -> Mapping[str, Any]:
    """The same object for all that are alike, by which they are known to be."""
    return {
        "context": context,
        "stream": stream,
        "priority": priority,
        "type": job,
        "version": 1,
        "aggregate": "job",
        "ordered": False,
        "followers": "skip",
        "handler": job,
        "state": LATER if delayed else READY,
    }
