"""`todoke jobs list --follow` and `show --follow`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from uuid import UUID

import pytest
from rich.console import Console

from tests.cli.errand_desk import MIKA, Errands
from tests.cli.errands import hold, write
from tests.cli.terminal import on_a_terminal
from todoke.cli.jobs.follow import EVERY, follow_jobs, follow_one


def steps(*acts: Callable[[], object]) -> Callable[[float], None]:
    """Instead of a second: the next thing happens; after the last, Ctrl-C."""
    left = list(acts)

    def wait(seconds: float) -> None:
        assert seconds == EVERY
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    return wait


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)


def shown(screen: Console) -> str:
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


def test_a_job_is_followed_until_it_has_ended(errands: Errands) -> None:
    """JB-5: its bar grows, and what it logs is shown once."""
    id = errands.enqueue(hold)
    screen, runs = terminal(), list[UUID]()
    wait = steps(
        lambda: runs.append(errands.begin(id)),
        lambda: errands.tell(runs[0], processed=3, total=10, log="INFO one"),
        lambda: errands.tell(runs[0], processed=9, total=10, log="INFO one\nINFO \x1btwo"),
        lambda: errands.end(id),
    )
    assert follow_one(errands.app, id, screen=screen, wait=wait)
    said = shown(screen)
    assert "PENDING" in said
    assert "No worker is running" in said
    assert said.index("3 of 10") < said.index("9 of 10") < said.index("CANCELLED")
    assert (said.count("INFO one"), said.count("INFO \\x1btwo")) == (1, 1)
    assert "━" in said


def test_following_ends_with_control_c(errands: Errands) -> None:
    """Nothing more is shown then, and nothing was changed."""
    id = errands.enqueue(hold)
    assert not follow_one(errands.app, id, screen=terminal(), wait=steps())
    assert errands.status(id) == "PENDING"


def test_all_that_run_are_followed(errands: Errands) -> None:
    """JB-5"""
    id, screen = errands.enqueue(hold), terminal()
    runs: list[UUID] = []
    wait = steps(
        lambda: runs.append(errands.begin(id, processed=1, total=4)),
        lambda: errands.tell(runs[0], processed=3),
        lambda: errands.end(id),
    )
    follow_jobs(errands.app, screen=screen, wait=wait)
    said = shown(screen)
    assert f"hold {id} PROCESSING" in said
    assert said.index("1 of 4") < said.index("3 of 4")
    assert said.index("0 jobs running") < said.index("1 job running")
    assert said.rindex("1 job running") < said.rindex("0 jobs running")


def test_programs_follow_by_lines(errands: Errands, capsys: pytest.CaptureFixture[str]) -> None:
    """One object for each change of the job; for many, one list a second."""
    id = errands.enqueue(hold)
    wait = steps(lambda: None, lambda: errands.begin(id), lambda: errands.end(id))
    assert not follow_one(errands.app, id, as_json=True, wait=wait)
    told = [json.loads(line)["status"] for line in capsys.readouterr().out.splitlines()]
    assert told == ["PENDING", "PROCESSING", "CANCELLED"]
    follow_jobs(errands.app, as_json=True, wait=steps(lambda: None))
    assert capsys.readouterr().out == "[]\n[]\n"


def test_following_without_a_terminal_is_refused(errands: Errands) -> None:
    id = errands.enqueue(hold)
    for command in (["list"], ["show", id]):
        result = errands.run("jobs", *command, "--follow")
        assert result.exit_code == 1
        assert "--follow --json" in result.stderr


def test_what_has_ended_is_followed_at_once(errands: Errands) -> None:
    """The command goes on to show it."""
    id = errands.enqueue(write, MIKA)
    errands.app.drain()
    code, screen = on_a_terminal("jobs", "show", str(id), "--follow", width=120)
    assert code == 0
    assert "SUCCEEDED" in screen
    assert len(errands.run("jobs", "show", id, "--follow", "--json").stdout.splitlines()) == 1
