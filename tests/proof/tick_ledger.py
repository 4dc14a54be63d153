"""Judges what schedulers have left behind: every due time once, and a job for each that ran.

Due times are counted here by division, without a word from the code under test.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

RUN = ("RAN", "LATE")


@dataclass(frozen=True)
class Plan:
    """A schedule, and when it is due: so many seconds after each multiple of its length."""

    name: str
    length: int
    offset: int
    options: dict[str, Any] = field(default_factory=dict)
    alone: bool = False

    def dues(self, start: datetime, end: datetime) -> set[datetime]:
        """Later than start, not later than end."""
        first = (int(start.timestamp()) - self.offset) // self.length + 1
        last = (int(end.timestamp()) - self.offset) // self.length
        return {
            datetime.fromtimestamp(number * self.length + self.offset, UTC)
            for number in range(first, last + 1)
        }


@dataclass(frozen=True)
class Tick:
    schedule: str
    due: datetime
    last_due: datetime | None
    count: int
    status: str
    job: UUID | None


@dataclass(frozen=True)
class Job:
    id: UUID
    schedule: str
    tick: datetime
    body: str = "null"


@dataclass
class Evidence:
    plans: Sequence[Plan]
    start: datetime
    end: datetime
    ticks: Sequence[Tick]
    jobs: Sequence[Job]


def verify(evidence: Evidence) -> list[str]:
    """What is wrong, in words; nothing else is right."""
    return [*_accounts(evidence), *_jobs(evidence)]


def _accounts(evidence: Evidence) -> Iterator[str]:
    for plan in evidence.plans:
        rows = [one for one in evidence.ticks if one.schedule == plan.name]
        wanted = sorted(plan.dues(evidence.start, evidence.end))
        times = Counter(one.due for one in rows if one.last_due is None)
        single = set(times)
        for one in rows:
            if one.last_due is not None:
                span = slice(bisect_left(wanted, one.due), bisect_right(wanted, one.last_due))
                inside = set(wanted[span]) - single
                times.update(inside)
                if len(inside) != one.count:
                    yield f"{plan.name}: {one.due} stands for {len(inside)}, says {one.count}"
        double = {due for due, count in times.items() if count > 1}
        yield from _told(plan, set(wanted) - times.keys(), "is lost")
        yield from _told(plan, double, "is there twice")
        yield from _told(plan, times.keys() - set(wanted), "was never due")
        yield from _told(plan, {one.due for one in rows if one.status == "WAITING"}, "still waits")


def _told(plan: Plan, dues: Set[datetime], what: str) -> list[str]:
    """The first few."""
    return [f"{plan.name}: {due} {what}" for due in sorted(dues)[:5]]


def _jobs(evidence: Evidence) -> Iterator[str]:
    enqueued: defaultdict[tuple[str, datetime], list[Job]] = defaultdict(list)
    for job in evidence.jobs:
        enqueued[job.schedule, job.tick].append(job)
    for one in evidence.ticks:
        found = enqueued.pop((one.schedule, one.due), [])
        if len(found) != (one.status in RUN):
            yield f"{one.schedule}: {one.due} is {one.status} and has {len(found)} jobs"
        elif [job.id for job in found] != [one.job] * len(found):
            yield f"{one.schedule}: {one.due} names another job"
        yield from (f"{job.schedule}: {one.due} got {job.body}" for job in found if not _fits(job))
    yield from (f"{name}: a job for {due}, which has no tick" for name, due in enqueued)


def _fits(job: Job) -> bool:
    """An argument that was made of the tick is that of the same tick."""
    return job.body == "null" or datetime.fromisoformat(job.body.strip('"')) == job.tick
