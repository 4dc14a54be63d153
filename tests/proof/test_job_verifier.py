"""A judge of jobs that cannot fail proves nothing: bad histories, and a good one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.proof.evidence import Called, Effect, Evidence, Living, Published, Settled, Witnessed
from tests.proof.job_evidence import Counted, Planned, Ran, Repeated, chunk_name
from tests.proof.job_scenario import CHUNKS, Work, expected
from tests.proof.job_verifier import (
    FOLLOWED,
    LOST_WORKER,
    MISCOUNTED,
    SHARED,
    TORN,
    UNTOLD,
)
from tests.proof.verifier import LOST, UNFENCED, verify

JOBS = {
    "1/0": "note",
    "1/1": "note",
    "2/0": "note",
    "2/1": "idle",
    "2/failed": "close",
    "3/0": "walk",
    "4/0": "note",
}


def good() -> Evidence:
    """A chain, a batch of which one is skipped, chunks, and a key; each job has its row."""
    evidence = Evidence(expected())
    jobs = evidence.jobs
    jobs.planned = [
        Planned(1, "chain", ("1/0", "1/1")),
        Planned(2, "batch", ("2/0", "2/1")),
    ]
    jobs.off, jobs.chunks, jobs.keys = {"2/1"}, {"3/0": CHUNKS}, {"4/0": "key"}
    jobs.batches = [Counted(2, 2, 0, 1, ended=True)]
    jobs.repeated = [Repeated("key", "id 4/0")]
    for row, (job, name) in enumerate(JOBS.items(), 1):
        case, _, part = job.partition("/")
        body = Work(case=int(case), part=part).text
        evidence.published.append(Published(job, name, body, "ok"))
        evidence.settled.append(Settled(job, None))
        jobs.rows[row], jobs.ids[f"id {job}"] = job, job
        jobs.runs.append(Ran(row, "SKIPPED" if name == "idle" else "SUCCEEDED", "w1"))
        if name != "idle":
            evidence.called.append(Called(job, name, f"{row}"))
        evidence.witnessed += [
            Witnessed("enqueued", "jobs", row, None, 0, "ready"),
            Witnessed("claimed", "jobs", row, "w1", 1),
            Witnessed("processed", "jobs", row, "w1", 1, by="w1"),
        ]
    evidence.effects = [Effect("3/0", chunk_name(number), "6") for number in range(CHUNKS)]
    return evidence


def row_of(evidence: Evidence, job: str) -> int:
    return next(row for row, one in evidence.jobs.rows.items() if one == job)


def _let_go(evidence: Evidence, job: str) -> None:
    """As if it had never been enqueued."""
    row = row_of(evidence, job)
    evidence.settled.remove(Settled(job, None))
    evidence.witnessed = [one for one in evidence.witnessed if one.row != row]
    evidence.jobs.runs = [one for one in evidence.jobs.runs if one.row != row]
    evidence.called = [one for one in evidence.called if one.event != job]
    evidence.published = [one for one in evidence.published if one.event != job]
    del evidence.jobs.rows[row]


def test_a_good_history_of_jobs_has_no_violation() -> None:
    assert verify(good()) == []


def _next_link_missing(evidence: Evidence) -> None:
    _let_go(evidence, "1/1")


def _next_link_twice(evidence: Evidence) -> None:
    evidence.jobs.rows[99] = "1/1"


def _next_link_of_one_that_was_skipped(evidence: Evidence) -> None:
    evidence.jobs.off.add("1/0")


def _batch_followed_by_nothing(evidence: Evidence) -> None:
    _let_go(evidence, "2/failed")


def _batch_followed_again(evidence: Evidence) -> None:
    evidence.jobs.rows[99] = "2/failed#1"


def _batch_followed_by_the_other(evidence: Evidence) -> None:
    evidence.jobs.rows[row_of(evidence, "2/failed")] = "2/then"


def _batch_counted_down_twice(evidence: Evidence) -> None:
    evidence.jobs.batches = [Counted(2, 2, -1, 2, ended=True)]


def _batch_not_ended(evidence: Evidence) -> None:
    evidence.jobs.batches = [Counted(2, 2, 0, 1, ended=False)]


def _batch_missing(evidence: Evidence) -> None:
    evidence.jobs.batches = []


def _batch_from_nowhere(evidence: Evidence) -> None:
    evidence.jobs.batches.append(Counted(9, 1, 1, 0, ended=False))


def _key_shared(evidence: Evidence) -> None:
    evidence.jobs.keys["3/0"] = "key"
    evidence.witnessed.sort(key=lambda one: one.what != "enqueued")


def _key_kept(evidence: Evidence) -> None:
    evidence.jobs.taken = ["4/0"]


def _key_of_another(evidence: Evidence) -> None:
    evidence.jobs.repeated = [Repeated("key", "id 3/0")]


def _run_untold(evidence: Evidence) -> None:
    evidence.jobs.runs.pop()


def _run_told_twice(evidence: Evidence) -> None:
    evidence.jobs.runs.append(evidence.jobs.runs[0])


def _run_of_another_worker(evidence: Evidence) -> None:
    evidence.jobs.runs[0] = replace(evidence.jobs.runs[0], worker="w2")


def _run_goes_on_for_ever(evidence: Evidence) -> None:
    evidence.jobs.runs.append(Ran(1, "RUNNING", "w2"))


def _run_lost_by_nobody(evidence: Evidence) -> None:
    evidence.jobs.runs.append(Ran(1, "FAILED", "w2", LOST_WORKER))


def _chunk_twice(evidence: Evidence) -> None:
    evidence.effects.append(evidence.effects[0])


def _chunk_missing(evidence: Evidence) -> None:
    evidence.effects.pop()


def _ran_though_it_is_off(evidence: Evidence) -> None:
    evidence.called.append(Called("2/1", "idle", "99"))


def _enqueued_by_nobody(evidence: Evidence) -> None:
    evidence.living.append(Living("9/0", None))


def _late_finisher_wrote(evidence: Evidence) -> None:
    evidence.witnessed[2:2] = [
        Witnessed("freed", "jobs", 1, "w1", 1, "suspect", by="w2"),
        Witnessed("claimed", "jobs", 1, "w2", 2),
    ]


@pytest.mark.parametrize(
    ("spoil", "invariant"),
    [
        (_next_link_missing, FOLLOWED),
        (_next_link_twice, FOLLOWED),
        (_next_link_of_one_that_was_skipped, FOLLOWED),
        (_batch_followed_by_nothing, FOLLOWED),
        (_batch_followed_again, FOLLOWED),
        (_batch_followed_by_the_other, FOLLOWED),
        (_batch_counted_down_twice, MISCOUNTED),
        (_batch_not_ended, MISCOUNTED),
        (_batch_missing, MISCOUNTED),
        (_batch_from_nowhere, MISCOUNTED),
        (_key_shared, SHARED),
        (_key_kept, SHARED),
        (_key_of_another, SHARED),
        (_run_untold, UNTOLD),
        (_run_told_twice, UNTOLD),
        (_run_of_another_worker, UNTOLD),
        (_run_goes_on_for_ever, UNTOLD),
        (_run_lost_by_nobody, UNTOLD),
        (_chunk_twice, TORN),
        (_chunk_missing, TORN),
        (_ran_though_it_is_off, LOST),
        (_enqueued_by_nobody, LOST),
        (_late_finisher_wrote, UNFENCED),
    ],
)
def test_a_bad_history_of_jobs_is_called_by_its_name(
    spoil: Callable[[Evidence], None], invariant: str
) -> None:
    """Each invariant of the judge can fail."""
    evidence = good()
    spoil(evidence)
    assert invariant in {one.invariant for one in verify(evidence)}


def test_a_member_that_is_redriven_counts_again() -> None:
    """JB-9: and what follows comes once more, when all have ended once more"""
    evidence = good()
    row = row_of(evidence, "2/0")
    evidence.witnessed += [
        Witnessed("enqueued", "jobs", row, None, 1, "ready"),
        Witnessed("claimed", "jobs", row, "w1", 2),
        Witnessed("died", "jobs", row, "w1", 2, "BROKEN", by="w1"),
    ]
    assert FOLLOWED in {one.invariant for one in verify(evidence)}
    evidence.jobs.rows[99] = "2/failed#1"
    assert FOLLOWED not in {one.invariant for one in verify(evidence)}
