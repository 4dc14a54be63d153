"""How child processes of a worker end: by themselves, given up, closed, or with their worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cli.project import is_running, until_ended
from tests.house.sources import ROOT
from tests.jobs import cpu_work
from tests.jobs.child_calls import NO_ARGUMENT, has_begun, result, run
from tests.waiting import until
from todoke.errors import TransientError
from todoke.jobs.children import Children
from todoke.jobs.wire import Told

WORKER = (sys.executable, "-m", "tests.jobs.killed_worker")


@pytest.fixture
def children() -> Iterator[Children]:
    with closing(Children(1, grace=0.2)) as made:
        yield made


@pytest.fixture
def note(tmp_path: Path) -> Path:
    """Where a function writes its process's id, to say that it has begun."""
    return tmp_path / "note"


# --- death -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("SIGKILL", "was ended by SIGKILL. That is also how"),
        ("SIGSEGV", "was ended by SIGSEGV. Another attempt"),
        ("exit", "ended with exit code 3."),
    ],
)
def test_a_process_that_dies_costs_its_attempt_only(
    children: Children, how: str, words: str
) -> None:
    first = result(run(children, cpu_work.pid))
    ended = run(children, cpu_work.dying, how)
    assert (ended.kind, ended.pid) == ("died", first)
    assert isinstance(ended.error, TransientError)
    assert ended.error.code == "PROCESS_DIED"
    assert f"work 7 attempt 2: its process {first} {words}" in str(ended.error)
    assert result(run(children, cpu_work.pid)) != first


def test_a_process_that_is_killed_from_outside(children: Children, note: Path) -> None:
    def kill() -> None:
        until(lambda: has_begun(note), 30)
        os.kill(int(note.read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ended = run(children, cpu_work.busy, str(note))
    killer.join()
    assert ended.kind == "died"
    assert result(run(children, cpu_work.doubled, 1)) == 2


@pytest.mark.parametrize("function", [cpu_work.dying_with_a_fork_left, cpu_work.closing])
def test_a_process_that_is_half_gone(children: Children, function: Callable[..., Any]) -> None:
    assert run(children, function).kind == "died"
    assert result(run(children, cpu_work.doubled, 1)) == 2


def test_a_process_that_dies_while_it_rests_costs_nothing(children: Children) -> None:
    first = result(run(children, cpu_work.pid))
    os.kill(first, signal.SIGKILL)
    assert result(run(children, cpu_work.pid)) != first


def test_an_interpreter_that_does_not_start(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "no-such-program")
    ended = run(children, cpu_work.pid)
    assert ended.kind == "died"
    assert "its process could not be started: " in str(ended.error)
    monkeypatch.undo()
    assert run(children, cpu_work.pid).kind == "answered"


# --- giving up -------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [cpu_work.busy, cpu_work.busy_in_c, cpu_work.stubborn])
def test_time_that_is_up_ends_anything(
    children: Children, note: Path, function: Callable[..., Any]
) -> None:
    """JB-9: timeouts."""
    first = result(run(children, cpu_work.pid))
    ended = run(children, function, str(note), seconds=1)
    assert ended.kind == "too_long"
    assert isinstance(ended.error, TimeoutError)
    assert not is_running(first)
    assert result(run(children, cpu_work.doubled, 1)) == 2


@pytest.mark.parametrize("function", [cpu_work.busy, cpu_work.stubborn])
def test_cancelling_ends_anything(
    children: Children, note: Path, function: Callable[..., Any]
) -> None:
    """JB-9: cancellation of running jobs."""
    ended = run(children, function, str(note), give_up=lambda: has_begun(note))
    assert (ended.kind, ended.error, ended.outcome) == ("given_up", None, None)
    assert not is_running(int(note.read_text()))
    assert result(run(children, cpu_work.doubled, 1)) == 2


@pytest.mark.parametrize("function", [cpu_work.tidy, cpu_work.tidy_async, cpu_work.checking])
def test_what_is_cancelled_may_tidy_up(note: Path, function: Callable[..., Any]) -> None:
    wants = "run" if function is cpu_work.checking else ""
    with closing(Children(1, grace=60)) as made:
        ended = run(made, function, str(note), wants, give_up=lambda: has_begun(note))
    assert (ended.kind, note.read_text()) == ("given_up", "")


def test_what_a_job_has_started_ends_with_it(children: Children, note: Path) -> None:
    begun = lambda: has_begun(note)  # noqa: E731
    assert run(children, cpu_work.with_offspring, str(note), give_up=begun).kind == "given_up"
    until_ended([int(one) for one in note.read_text().split()])


def test_a_job_that_talks_without_pause_is_cancelled(children: Children) -> None:
    """JB-9"""
    told: list[Told] = []
    ended = run(
        children,
        cpu_work.flooding,
        NO_ARGUMENT,
        "run",
        on_told=told.append,
        give_up=lambda: len(told) > 100,
        seconds=20,
    )
    assert ended.kind == "given_up"


def test_waiting_for_a_process_ends_with_the_deadline(note: Path) -> None:
    made = Children(1, grace=0.2)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(run, made, cpu_work.busy, str(note))
        until(lambda: has_begun(note), 30)
        second = run(made, cpu_work.pid, seconds=0.1)
        made.close()
        assert (second.kind, first.result().kind) == ("too_long", "given_up")


# --- the end ---------------------------------------------------------------------------------


def test_closing_ends_what_rests_and_what_runs(note: Path) -> None:
    made = Children(2, grace=0.2)
    resting = result(run(made, cpu_work.pid))
    with ThreadPoolExecutor(2) as threads:
        running = threads.submit(run, made, cpu_work.stubborn, str(note))
        until(lambda: has_begun(note), 30)
        made.close()
        assert running.result().kind == "given_up"
    assert not is_running(resting)
    assert not is_running(int(note.read_text()))
    assert run(made, cpu_work.pid).kind == "given_up"


def test_closing_does_not_wait_for_a_callback_for_ever() -> None:
    made, free = Children(1, grace=0.2), threading.Event()
    begun = threading.Event()

    def hang(told: Told) -> None:
        begun.set()
        assert free.wait(60)

    what = (made, cpu_work.telling, NO_ARGUMENT, "run")
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(run, *what, on_told=hang)
        assert begun.wait(60)
        made.close()
        free.set()
        assert ended.result().kind in ("given_up", "died")


@pytest.mark.parametrize(
    "function", ["busy", "busy_in_c", "deaf_to_the_system", "stubborn", "with_offspring"]
)
def test_no_process_outlives_its_worker(note: Path, function: str) -> None:
    """JB-9: nobody is left to tell it to stop."""
    with subprocess.Popen([*WORKER, function, str(note)], cwd=ROOT) as worker:
        until(lambda: has_begun(note), 30)
        worker.kill()
    until_ended([int(one) for one in note.read_text().split()])


def test_a_fork_of_the_worker_keeps_no_process_alive(note: Path, tmp_path: Path) -> None:
    forked = tmp_path / "forked"
    command = [*WORKER, "busy", str(note), str(forked)]
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as worker:
        until(forked.exists, 30)
        worker.kill()
        try:
            until_ended([int(note.read_text())])
        finally:
            os.killpg(worker.pid, signal.SIGKILL)


def test_a_fork_of_the_worker_has_no_children(children: Children) -> None:
    first = result(run(children, cpu_work.pid))
    forked = os.fork()
    if forked == 0:
        os._exit(_status_of_a_fork(children, first))
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert result(run(children, cpu_work.pid)) == first


def _status_of_a_fork(children: Children, first: int) -> int:
    other = result(run(children, cpu_work.pid))
    children.close()
    return 0 if other != first and is_running(first) else 1
