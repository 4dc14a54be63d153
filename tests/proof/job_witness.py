"""Reads what the database has of jobs into the evidence, with plain SQL of our own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.proof.evidence import Called, Evidence, Letter, Living, Published, Settled
from tests.proof.job_evidence import FAILED, THEN, Counted, Ran
from tests.proof.job_scenario import Work, identity

Rows = Callable[[str], Sequence[Any]]
"""Answers the rows of a statement."""
Name = Callable[[str], str]
"""A table as the database knows it."""


def collect_jobs(evidence: Evidence, rows: Rows, name: Name, id: Callable[[object], str]) -> None:
    jobs, ids = evidence.jobs, dict[str, int]()
    found = {
        "living": rows(f"SELECT id, message_id, body FROM {name('jobs')}"),
        "settled": rows(f"SELECT id, message_id, body FROM {name('jobs_history')}"),
        "dead": rows(
            "SELECT item_id, message_id, body, closed_as, error_class, error_code, error_message, "
            f"error_traceback, attempt - spared FROM {name('dead_letters')} WHERE source = 'job'"
        ),
    }
    for row, message, body in sorted({tuple(one[:3]) for of in found.values() for one in of}):
        jobs.rows[row], ids[id(message)] = _named(evidence, identity(body)), row
    evidence.living += [Living(jobs.rows[row], None) for row, *_ in found["living"]]
    evidence.settled += [Settled(jobs.rows[row], None) for row, *_ in found["settled"]]
    for row, _, body, closed, *told, attempts in found["dead"]:
        error_class, code, message, trail = (one or "" for one in told)
        why = (error_class, code, message, trail, attempts)
        evidence.letters.append(Letter(jobs.rows[row], None, body, *why, closed == "redriven"))
    jobs.ids = {message: jobs.rows[row] for message, row in ids.items()}
    for (message,) in rows(f"SELECT job_id FROM {name('unique_keys')}"):
        jobs.taken.append(jobs.ids.get(id(message), id(message)))
    for message, status, worker, code in rows(
        f"SELECT job_id, status, worker, error_code FROM {name('job_run_history')}"
    ):
        owner = None if worker is None else id(worker)
        jobs.runs.append(Ran(ids.get(id(message), 0), status, owner, code or ""))
    for case, total, pending, failed, ended in rows(
        f"SELECT name, total, pending, failed, ended_at FROM {name('batches')}"
    ):
        jobs.batches.append(Counted(int(case), total, pending, failed, ended is not None))


def _named(evidence: Evidence, job: str) -> str:
    """What follows a batch may come again; each of them is its own job."""
    times = Counter(one.partition("#")[0] for one in evidence.jobs.rows.values())[job]
    if times == 0 or job.partition("/")[2] not in (THEN, FAILED):
        return job
    another = f"{job}#{times}"
    evidence.called += [
        Called(another, one.handler, one.token) for one in evidence.called if one.event == job
    ]
    case, _, part = job.partition("/")
    body = Work(case=int(case), part=part).text
    evidence.published.append(Published(another, "close", body, "unknown"))
    return another
