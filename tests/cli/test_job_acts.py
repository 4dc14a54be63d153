"""`todoke jobs run`, `retry`, `cancel`, `pause` and `resume`."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.cli.errand_desk import ACT, MIKA, Errands
from tests.cli.errands import hold, write
from tests.cli.terminal import on_a_terminal
from tests.waiting import until


def test_a_job_is_run_by_hand(any_errands: Errands) -> None:
    """JB-1: with its argument as JSON, or from stdin."""
    text = MIKA.model_dump_json()
    told = any_errands.ask("jobs", "run", "write", text, "--priority", "-5", *ACT)
    assert (told["operation"], told["kind"], told["done"]) == (1, "run", 1)
    shown = any_errands.ask("jobs", "show", told["job"])
    assert (shown["status"], shown["priority"]) == ("PENDING", -5)
    result = any_errands.run("jobs", "run", "write", "-", *ACT, input=text)
    assert result.stdout.startswith("Operation 2: write ")
    assert result.stdout.endswith(" is enqueued.\n")
    assert any_errands.run("jobs", "run", "hold", "--delay", "1h", *ACT).exit_code == 0


def test_following_what_was_run_needs_a_terminal_and_enqueues_it_all_the_same(
    errands: Errands,
) -> None:
    """JB-5: what was done is told first"""
    result = errands.run("jobs", "run", "hold", "--follow", *ACT)
    assert (result.exit_code, result.stdout[:18]) == (1, "Operation 1: hold ")
    assert "--follow needs a terminal" in result.stderr
    assert [one["job"] for one in errands.ask("jobs", "list")] == ["hold"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["write", '{"to": "Mika"}'], "pages: Field required"),
        (["write"], "it takes an argument"),
        (["wirte"], "Is write meant?"),
        (["write", "{"], "no strict JSON"),
        (["hold", "--delay", "5"], "not a length of time"),
    ],
)
def test_what_cannot_run_is_refused(errands: Errands, arguments: list[str], told: str) -> None:
    """One line, and nothing of the argument's values."""
    result = errands.run("jobs", "run", *arguments, *ACT)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Mika" not in result.stderr


def test_a_job_is_retried(any_errands: Errands) -> None:
    """JB-1: one that waits goes on now, one that has ended is run again."""
    id = any_errands.enqueue(write, MIKA, delay="1h")
    said = any_errands.run("jobs", "retry", id, *ACT).stdout
    assert said == f"Operation 1: {id} is tried again.\n"
    any_errands.app.drain()
    assert any_errands.status(id) == "PROCESSED"
    told = any_errands.ask("jobs", "retry", id, *ACT)
    assert told["job"] != str(id)
    said = any_errands.run("jobs", "retry", id, *ACT).stdout
    assert said.startswith(f"Operation 3: {id} is run again, as ")
    result = any_errands.run("jobs", "retry", told["job"], *ACT)
    assert (result.exit_code, "it waits already" in result.stderr) == (1, True)


def test_a_job_is_cancelled(any_errands: Errands) -> None:
    """JB-9"""
    id = any_errands.enqueue(write, MIKA)
    said = any_errands.run("jobs", "cancel", id, *ACT).stdout
    assert said == f"Operation 1: {id} is cancelled.\n"
    (told,) = any_errands.ask("jobs", "list", "--status", "cancelled")
    assert told["note"] == "CANCELLED: by ken: wrong stamp"
    assert "CANCELLED: by ken" in any_errands.run("jobs", "list").stdout
    result = any_errands.run("jobs", "cancel", id, *ACT)
    assert (result.exit_code, "it has ended already" in result.stderr) == (1, True)


def test_a_running_job_is_asked_to_end(errands: Errands) -> None:
    """JB-9"""
    id = errands.enqueue(hold)
    errands.begin(id)
    said = errands.run("jobs", "cancel", id, *ACT).stdout
    assert said == f"Operation 1: {id} runs; its worker was asked to end it.\n"


def test_a_running_job_is_ended_by_its_worker(errands: Errands) -> None:
    """JB-9: the whole way, with a worker of its own."""
    id = errands.enqueue(hold)
    with errands.project.worker():
        until(lambda: errands.status(id) == "PROCESSING", 30)
        until(lambda: errands.ask("jobs", "show", id)["runs"], 30)
        (run,) = errands.ask("jobs", "show", id)["runs"]
        assert (run["status"], run["processed"], run["total"]) == ("RUNNING", 3, 10)
        assert run["log"] == ["INFO holding"]
        assert errands.run("jobs", "cancel", id, *ACT).exit_code == 0
        until(lambda: errands.status(id) == "CANCELLED", 30)


def test_all_that_wait_are_cancelled(any_errands: Errands) -> None:
    """JB-9: after a look at how many."""
    ids = [any_errands.enqueue(write, MIKA) for _ in range(3)]
    all_of_them = ("jobs", "cancel", "--job", "write", *ACT)
    assert any_errands.run(*all_of_them, "--dry-run").stdout == "Would cancel 3 jobs.\n"
    assert any_errands.ask(*all_of_them, "--dry-run") == {
        "operation": None, "selected": 3, "done": 0,
    }  # fmt: skip
    assert any_errands.run(*all_of_them).stdout == "Operation 1: 3 jobs cancelled.\n"
    assert {any_errands.status(id) for id in ids} == {"CANCELLED"}


def test_a_person_is_asked_before_many_are_cancelled(errands: Errands) -> None:
    """JB-9: no means no."""
    id = errands.enqueue(write, MIKA)
    code, screen = on_a_terminal("jobs", "cancel", "--job", "write", *ACT, answer="n\n")
    assert code == 1
    assert "Cancel 1 job? [y/N]" in screen
    assert errands.status(id) == "PENDING"
    code, _ = on_a_terminal("jobs", "cancel", "--job", "write", *ACT, "--yes")
    assert (code, errands.status(id)) == (0, "CANCELLED")


def test_a_queue_is_paused_and_goes_on(any_errands: Errands) -> None:
    """JB-9"""
    said = any_errands.run("jobs", "pause", "--queue", "slow", *ACT).stdout
    assert said == "Operation 1: queue slow is paused.\n"
    result = any_errands.run("jobs", "pause", "--queue", "slow", *ACT)
    assert (result.exit_code, "it is paused already" in result.stderr) == (1, True)
    told = any_errands.ask("jobs", "resume", "--queue", "slow", *ACT)
    assert told == {"operation": 2, "kind": "resume", "queue": "slow", "job": None}
    assert any_errands.run("jobs", "pause", "--job", "write", *ACT).exit_code == 0
    said = any_errands.run("jobs", "resume", "--job", "write", *ACT).stdout
    assert said == "Operation 4: job write goes on.\n"
    result = any_errands.run("jobs", "resume", "--job", "write", *ACT)
    assert (result.exit_code, "it is not paused" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["pause"],
        ["pause", "--queue", "slow", "--job", "write"],
        ["resume"],
        ["cancel"],
        ["cancel", str(uuid4()), "--job", "write"],
    ],
)
def test_what_cannot_be_meant_is_refused(errands: Errands, arguments: list[str]) -> None:
    assert errands.run("jobs", *arguments, *ACT).exit_code == 2


@pytest.mark.parametrize("act", ["run", "retry", "cancel", "pause", "resume"])
def test_acts_need_an_author_and_a_reason(errands: Errands, act: str) -> None:
    needs: dict[str, list[object]] = {"run": ["write"], "retry": [uuid4()], "cancel": [uuid4()]}
    given = needs.get(act, [])
    for missing in (ACT[:2], ACT[2:]):
        assert errands.run("jobs", act, *given, *missing).exit_code == 2
