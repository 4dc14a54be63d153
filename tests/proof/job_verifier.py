"""Judges what only jobs have: a pure function from evidence to violations.

8.  Followed once  the next of a chain is there once if the one before has succeeded, never
                   otherwise; what follows a batch is there once for each time that all had ended
9.  Batches agree  what is counted of a batch is what became of its members
10. One per key    of a unique key there is one living job, and none has it when that has ended
11. Runs told      every attempt that was settled is told as a run, once, and nothing else is; one
                   that was taken from its worker or put off may be told, as lost or skipped
12. Chunks once    each chunk took effect once, all of them if the job was processed
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.proof.job_evidence import FAILED, THEN, Planned, chunk_name
from tests.proof.violation import Violation

if TYPE_CHECKING:
    from tests.proof.evidence import Evidence, Witnessed

FOLLOWED, MISCOUNTED, SHARED, UNTOLD, TORN = (
    "followed once",
    "batches agree",
    "one per key",
    "runs told",
    "chunks once",
)
LOST_WORKER = "WORKER_LOST"


def verify_jobs(evidence: Evidence) -> list[Violation]:
    return [
        *_followed_once(evidence),
        *_batches_agree(evidence),
        *_one_per_key(evidence),
        *_runs_told(evidence),
        *_chunks_once(evidence),
    ]


def is_rescue(one: Witnessed) -> bool:
    return one.state in ("suspect", "held", "OUTCOME_UNKNOWN", "CRASHED")


@dataclass
class _Batch:
    """A batch as it should be, by what was seen of its members."""

    total: int
    pending: int
    failed: int = 0
    followed: Counter[str] = field(default_factory=Counter)

    def see(self, what: str, *, again: bool, off: bool) -> None:
        if what == "enqueued" and again:
            self.pending, self.failed = self.pending + 1, self.failed - 1
        if what in ("processed", "died"):
            self.pending -= 1
            self.failed += what == "died" or off
            if self.pending == 0:
                self.followed[FAILED if self.failed else THEN] += 1


def _replayed(evidence: Evidence) -> dict[int, _Batch]:
    """Each batch, by its case: members that end and are redriven, in the order of the database."""
    plans = [plan for plan in evidence.jobs.planned if plan.kind == "batch"]
    batches = {plan.case: _Batch(len(plan.parts), len(plan.parts)) for plan in plans}
    of = {part: plan.case for plan in plans for part in plan.parts}
    born: set[int] = set()
    for one in evidence.witnessed:
        job = evidence.jobs.rows.get(one.row) if one.place == "jobs" else None
        if job in of:
            off = job in evidence.jobs.off
            batches[of[job]].see(one.what, again=one.row in born, off=off)
            born.add(one.row)
    return batches


def _followed_once(evidence: Evidence) -> Iterator[Violation]:
    there = Counter(evidence.jobs.rows.values())
    succeeded = {one.event for one in evidence.settled} - evidence.jobs.off
    batches = _replayed(evidence)
    for plan in evidence.jobs.planned:
        if plan.kind == "chain":
            for before, after in pairwise(plan.parts):
                should = int(before in succeeded)
                if there[after] != should:
                    yield Violation(FOLLOWED, after, f"is there {there[after]} times, not {should}")
            continue
        for which in (THEN, FAILED):
            found, should = _followers(evidence, plan, which), batches[plan.case].followed[which]
            if found != should:
                what = f"is there {found} times, not {should}"
                yield Violation(FOLLOWED, plan.follower(which), what)


def _followers(evidence: Evidence, plan: Planned, which: str) -> int:
    name = plan.follower(which)
    return sum(one.partition("#")[0] == name for one in evidence.jobs.rows.values())


def _batches_agree(evidence: Evidence) -> Iterator[Violation]:
    batches = _replayed(evidence)
    for one in evidence.jobs.batches:
        should = batches.pop(one.case, None)
        told = (one.total, one.pending, one.failed, one.ended)
        if should is None:
            yield Violation(MISCOUNTED, f"batch {one.case}", "nobody enqueued it")
            continue
        right = (should.total, should.pending, should.failed)
        if told[:3] != right or one.ended != bool(should.followed):
            yield Violation(MISCOUNTED, f"batch {one.case}", f"{told}, it should be {right}")
    for case in batches:
        yield Violation(MISCOUNTED, f"batch {case}", "is not there")


def _one_per_key(evidence: Evidence) -> Iterator[Violation]:
    jobs, living, born = evidence.jobs, dict[str, set[int]](), set[int]()
    for one in evidence.witnessed:
        key = jobs.keys.get(jobs.rows.get(one.row, "")) if one.place == "jobs" else None
        if key is None:
            continue
        under = living.setdefault(key, set())
        # One that is redriven has no key any more.
        if one.what == "enqueued" and one.row not in born:
            if under:
                yield Violation(SHARED, jobs.rows[one.row], f"another job has {key}")
            under.add(one.row)
            born.add(one.row)
        if one.what in ("processed", "died"):
            under.discard(one.row)
    present = {one.event for one in evidence.living}
    for job in jobs.taken:
        if job not in present:
            yield Violation(SHARED, job, "has ended, and its key is still taken")
    for repeat in jobs.repeated:
        if jobs.keys.get(jobs.ids.get(repeat.first, "")) != repeat.key:
            yield Violation(SHARED, repeat.first, f"was said to have {repeat.key}")


def _runs_told(evidence: Evidence) -> Iterator[Violation]:
    jobs = evidence.jobs
    settled, taken = Counter[tuple[int, str, str | None]](), Counter[tuple[int, str | None]]()
    for one in evidence.witnessed:
        off = jobs.rows.get(one.row) in jobs.off
        if one.place == "jobs" and (status := _status(one, off=off)) is not None:
            settled[one.row, status, one.owner] += 1
        elif one.place == "jobs" and one.what in ("freed", "died"):
            taken[one.row, one.owner] += 1
    told, lost = Counter[tuple[int, str, str | None]](), Counter[tuple[int, str | None]]()
    for run in jobs.runs:
        put_off = run.status == "SKIPPED" and jobs.rows.get(run.row) not in jobs.off
        if run.code == LOST_WORKER or put_off:
            lost[run.row, run.worker] += 1
        else:
            told[run.row, run.status, run.worker] += 1
    for row, status, worker in sorted(settled | told, key=str):
        count, should = told[row, status, worker], settled[row, status, worker]
        if count != should:
            what = f"{status} by {worker} is told {count} times, not {should}"
            yield Violation(UNTOLD, jobs.rows.get(row, f"row {row}"), what)
    for row, worker in lost - taken:
        what = f"is told as lost or put off by {worker}, which did not have it"
        yield Violation(UNTOLD, jobs.rows.get(row, f"row {row}"), what)


def _status(one: Witnessed, *, off: bool) -> str | None:
    """As what an attempt is told that was ended so; None where it was taken away or put off."""
    if one.what == "processed":
        return "SKIPPED" if off else "SUCCEEDED"
    failed = one.what == "died" or (one.what == "freed" and one.state == "later")
    return "FAILED" if failed and not is_rescue(one) else None


def _chunks_once(evidence: Evidence) -> Iterator[Violation]:
    settled = {one.event for one in evidence.settled}
    found = Counter((one.event, one.handler) for one in evidence.effects)
    for job, count in evidence.jobs.chunks.items():
        for number in range(count):
            took = found[job, chunk_name(number)]
            if took > 1 or (took == 0 and job in settled):
                yield Violation(TORN, job, f"its chunk {number} took effect {took} times")
