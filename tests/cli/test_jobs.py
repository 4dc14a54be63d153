"""`todoke jobs list`, `show`, `why` and `status`."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.cli.errand_desk import ACT, MIKA, Errands
from tests.cli.errands import carry, refuse, write


def test_jobs_are_listed_newest_first(any_errands: Errands) -> None:
    """JB-1: with the status each one has, and why it waits."""
    any_errands.enqueue(write, MIKA)
    any_errands.app.drain()
    waiting = any_errands.enqueue(carry, MIKA)
    newest, oldest = any_errands.ask("jobs", "list")
    assert (newest["id"], newest["job"], newest["status"]) == (str(waiting), "carry", "PENDING")
    assert newest["why_waiting"] == "No worker is running. Start `todoke worker`."
    assert (oldest["job"], oldest["status"], oldest["processed"]) == ("write", "PROCESSED", 2)
    assert "argument" not in newest
    head, first, why, second = any_errands.run("jobs", "list").stdout.splitlines()
    assert head.split() == ["ID", "STATUS", "JOB", "QUEUE", "ATTEMPTS", "DONE", "AGE"]
    assert first.startswith(f"{waiting}  PENDING    carry  slow     0 of 4")
    assert why == "    No worker is running. Start `todoke worker`."
    assert "  2 of 2  " in second


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        (["--status", "dead"], 1),
        (["--status", "PROCESSING"], 0),
        (["--job", "write"], 1),
        (["--queue", "slow"], 1),
        (["--queue", "errands/slow"], 1),
        (["--queue", "slow", "--job", "write"], 0),
        (["--limit", "1"], 1),
    ],
)
def test_jobs_are_chosen_by_filters(errands: Errands, filters: list[str], count: int) -> None:
    """JB-1"""
    errands.enqueue(write, MIKA)
    errands.enqueue(refuse, MIKA)
    errands.app.drain()
    errands.enqueue(carry, MIKA)
    assert len(errands.ask("jobs", "list", *filters)) == count


def test_a_job_is_shown_with_its_runs(any_errands: Errands) -> None:
    """JB-5: log lines, metrics, progress; without what is personal."""
    id = any_errands.enqueue(write, MIKA, unique="to-mika@example.com", priority=5)
    any_errands.app.drain()
    told = any_errands.ask("jobs", "show", id)
    shown = {"to": "***", "pages": 2, "remark": "for ***@example.org"}
    assert (told["argument"], told["status"], told["priority"]) == (shown, "PROCESSED", 5)
    (run,) = told["runs"]
    assert (run["status"], run["processed"], run["metrics"]) == ("SUCCEEDED", 2, {"ink": 2.5})
    assert (run["log"], run["result"]) == (["INFO wrote to Mika"], shown)
    said = any_errands.run("jobs", "show", id).stdout
    for part in (
        f"job       {id}\n",
        "status    PROCESSED\n",
        "done      2 of 2\n",
        "run 1  SUCCEEDED\n",
        "  metrics  ink 2.5\n",
        '  result   {"pages": 2, "remark": "for ***@example.org", "to": "***"}\n',
        "1 line of its log\n  INFO wrote to Mika\n",
        '    "to": "***"\n',
    ):
        assert part in said
    assert "ken@" not in said


def test_a_waiting_job_is_shown(errands: Errands) -> None:
    """JB-9: with its key masked, and the reason."""
    id = errands.enqueue(write, MIKA, unique="mika@example.com", delay="1h")
    assert errands.ask("jobs", "show", id)["unique"] == "***@example.com"
    said = errands.run("jobs", "show", id).stdout
    assert "waits     No worker is running. Start `todoke worker`.\n" in said
    assert "unique    ***@example.com\n" in said
    assert "\ndue       " in said


def test_a_dead_job_is_shown_with_its_traceback(errands: Errands) -> None:
    """JB-5; and its letter hides what the argument marks as personal."""
    id = errands.enqueue(refuse, MIKA)
    errands.app.drain()
    said = errands.run("jobs", "show", id).stdout
    assert "error     NO_STAMP: no stamp\n" in said
    assert "raise PermanentError" in said
    (letter,) = errands.ask("dead-letters", "list", "--source", "job")["items"]
    assert (letter["payload"]["to"], letter["key"]) == ("***", "***")
    told = [
        line.split()
        for line in errands.run("dead-letters", "show", letter["id"]).stdout.splitlines()
    ]
    assert ["job", str(id)] in told
    assert "event" not in [line[0] for line in told if line]


def test_a_job_that_is_not_there(errands: Errands) -> None:
    id = uuid4()
    for command in ("show", "why"):
        result = errands.run("jobs", command, id)
        assert result.exit_code == 1
        assert result.stderr == f"Error: No job {id}. `todoke jobs list` shows what is.\n"


def test_why_a_job_waits(any_errands: Errands) -> None:
    """JB-9: one sentence a line."""
    id = any_errands.enqueue(write, MIKA, delay="1h")
    any_errands.run("jobs", "pause", "--job", "write", *ACT)
    first, second, third = any_errands.ask("jobs", "why", id)["why"]
    assert first.startswith("Job write is paused by ken since ")
    assert second == "No worker is running. Start `todoke worker`."
    assert third.startswith("It is to run later: at ")
    assert any_errands.run("jobs", "why", id).stdout.splitlines()[1] == second


def test_figures_by_queue(any_errands: Errands) -> None:
    """JB-9: and what is paused, by whom."""
    assert "No job waits or runs." in any_errands.run("jobs", "status").stderr
    any_errands.enqueue(write, MIKA)
    any_errands.enqueue(carry, MIKA, delay="1h")
    any_errands.run("jobs", "pause", "--queue", "slow", *ACT)
    told = any_errands.ask("jobs", "status")
    writes, carried = told["jobs"]
    assert (writes["queue"], writes["job"], writes["ready"]) == ("default", "write", 1)
    assert (carried["later"], carried["paused"]) == (1, "by ken: wrong stamp")
    assert [(one["kind"], one["name"]) for one in told["pauses"]] == [("queue", "slow")]
    said = any_errands.run("jobs", "status").stdout
    assert "paused by ken: wrong stamp" in said
    assert "queue slow  paused by ken since " in said


def test_looking_waits_for_no_writer(errands: Errands) -> None:
    """On SQLite, too, where only one transaction writes at a time."""
    id = errands.enqueue(write, MIKA)
    with errands.app.engine.begin():
        for command in (["list"], ["status"], ["show", id], ["why", id]):
            assert errands.run("jobs", *command).exit_code == 0
