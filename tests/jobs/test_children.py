"""Child processes of a worker, for jobs with `executor="process"`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import cpu_work
from tests.jobs.child_calls import NO_ARGUMENT, result, run
from todoke.errors import BusinessError, InvalidOption, PermanentError, TransientError
from todoke.jobs.address import address_of
from todoke.jobs.children import Children
from todoke.jobs.report import FailedInProcess
from todoke.jobs.wire import LONGEST, Line, Metric, Progress, Task, Told
from todoke.outcome import Done, Outcome, Reject, Retry, Skip, Snooze


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    """One process for all tests that leave it alive."""
    with closing(Children(1)) as made:
        yield made


# --- answers ---------------------------------------------------------------------------------


def test_argument_and_result_are_typed(children: Children) -> None:
    """JB-1"""
    assert result(run(children, cpu_work.area, {"side": 3, "drawn": "2031-01-02"})) == {"2031": 9}
    assert run(children, cpu_work.area, {"side": 3, "drawn": "2031-01-02"}).outcome == Done()


def test_async_functions_and_jobs_and_what_is_in_a_class(children: Children) -> None:
    assert result(run(children, cpu_work.doubled, 4)) == 8
    assert result(run(children, cpu_work.tripled.function, 4)) == 12
    assert result(run(children, cpu_work.Outer.inside)) == "inside"


@pytest.mark.parametrize(
    ("which", "outcome", "text"),
    [
        ("done", Done(), "7"),
        ("retry", Retry(timedelta(minutes=10), reason="busy", code="BUSY"), None),
        ("retry by policy", Retry(), None),
        ("snooze", Snooze(timedelta(seconds=1.5), reason="night"), None),
        ("snooze until", Snooze(datetime(2031, 1, 2, tzinfo=UTC)), None),
        ("reject", Reject("too old", code="OLD"), None),
        ("skip", Skip("nothing there"), None),
    ],
)
def test_outcomes_come_back(
    children: Children, which: str, outcome: Outcome, text: str | None
) -> None:
    ended = run(children, cpu_work.answered, which)
    assert (ended.kind, ended.outcome, ended.result) == ("answered", outcome, text)


@pytest.mark.parametrize(
    ("which", "kind", "text", "parts"),
    [
        ("permanent", PermanentError, "gone", {"code": "GONE"}),
        ("own permanent", PermanentError, "card 7", {"code": "CARD_STOLEN"}),
        ("transient", TransientError, "busy", {"code": "BUSY", "after": "5m"}),
        ("transient timedelta", TransientError, "busy", {"after": timedelta(seconds=9)}),
        ("business", BusinessError, "no", {"publish": cpu_work.CreditRefused(order=7)}),
        ("timeout", TimeoutError, "slow", {"code": None}),
        ("other", FailedInProcess, "by nothing", {"code": "ZERO_DIVISION_ERROR"}),
        ("exit", FailedInProcess, "3", {"code": "SYSTEM_EXIT"}),
    ],
)
def test_errors_come_back(
    children: Children, which: str, kind: type[Exception], text: str, parts: dict[str, object]
) -> None:
    ended = run(children, cpu_work.raised, which)
    assert ended.kind == "failed"
    assert type(ended.error) is kind
    assert str(ended.error) == text
    assert {name: getattr(ended.error, name) for name in parts} == parts


def test_an_error_brings_its_traceback_and_the_names_of_its_classes(children: Children) -> None:
    ended = run(children, cpu_work.raised, "own permanent")
    assert ended.error is not None
    assert "raise errors[which]" in ended.error.__notes__[0]
    assert f"{cpu_work.__name__}.CardStolen" in ended.lineage
    assert "builtins.Exception" in ended.lineage


def test_an_error_that_cannot_be_told_is_still_a_failed_attempt(children: Children) -> None:
    ended = run(children, cpu_work.raised, "untellable")
    assert ended.kind == "failed"
    assert "Untellable" in str(ended.error)


def test_five_megabytes_come_back(children: Children) -> None:
    assert len(result(run(children, cpu_work.megabytes, 5))) == 5 * 1024 * 1024


def test_a_result_beyond_the_limit_is_refused(children: Children) -> None:
    ended = run(children, cpu_work.megabytes, 1 + LONGEST // 2 // 1024 // 1024)
    assert isinstance(ended.error, PermanentError)
    assert "bytes" in str(ended.error)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (cpu_work.no_json, "object"),
        (cpu_work.no_json, "bytes"),
        (cpu_work.not_a_number, NO_ARGUMENT),
        (cpu_work.wrong_type, NO_ARGUMENT),
    ],
)
def test_a_result_that_cannot_be_kept_is_refused(
    children: Children, function: Callable[..., Any], argument: object
) -> None:
    error = run(children, function, argument).error
    assert isinstance(error, PermanentError)
    assert error.code == "WRONG_RESULT"
    assert str(error).startswith("work 7 answered what cannot be kept: ")


def test_a_reason_that_is_no_text_fails(children: Children) -> None:
    assert run(children, cpu_work.unreasonable).kind == "failed"
    assert result(run(children, cpu_work.doubled, 1)) == 2


@pytest.mark.parametrize(
    ("function", "argument"), [(cpu_work.area, {"side": "a"}), (cpu_work.pid, 3)]
)
def test_an_argument_that_does_not_fit_is_refused(
    children: Children, function: Callable[..., Any], argument: object
) -> None:
    error = run(children, function, argument).error
    assert isinstance(error, PermanentError)
    assert error.code == "WRONG_ARGUMENT"


# --- while it runs ---------------------------------------------------------------------------


def test_what_a_job_tells_arrives(children: Children) -> None:
    """JB-5"""
    told: list[Told] = []
    ended = run(children, cpu_work.telling, NO_ARGUMENT, "run", on_told=told.append)
    assert result(ended) == "2 key-7"
    assert [one for one in told if not isinstance(one, Progress)] == [
        Metric("bytes", 12.5),
        Line(20, "read 3 lines", {"file": "in.csv"}),
    ]
    assert told[-1] == Progress(3, 3)


def test_progress_arrives_before_the_end(children: Children, tmp_path: Path) -> None:
    """JB-8: without the job saying anything more."""
    heard, note = list[Told](), tmp_path / "heard"

    def on_told(told: Told) -> None:
        heard.append(told)
        note.touch()

    ended = run(children, cpu_work.told_while_it_runs, str(note), "run", on_told=on_told)
    assert (ended.kind, heard) == ("answered", [Progress(1, 2)])


def test_nothing_is_told_after_the_end() -> None:
    told: list[Told] = []
    with closing(Children(1)) as made:
        assert run(made, cpu_work.haunting, NO_ARGUMENT, "run").kind == "answered"
        assert result(run(made, cpu_work.doubled, 1, on_told=told.append)) == 2
    assert told == []


def test_what_a_job_prints_disturbs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with closing(Children(1)) as made:
        assert result(run(made, cpu_work.printing, 10_000)) == "undisturbed"
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "from the job" * 10_000 in captured.err
    assert "from its descriptor" in captured.err
    assert "to its errors" in captured.err


def test_a_callback_that_fails_leaves_no_process_at_work() -> None:
    def fail(told: Told) -> None:
        raise LookupError

    with closing(Children(1)) as made:
        with pytest.raises(LookupError):
            run(made, cpu_work.flooding, NO_ARGUMENT, "run", on_told=fail)
        assert result(run(made, cpu_work.doubled, 1)) == 2


def test_a_signal_that_the_worker_did_not_send_is_ignored(children: Children) -> None:
    """JB-9: where a whole group is told to stop, jobs drain like the rest of their worker."""
    assert result(run(children, cpu_work.deaf_to_others)) == "still here"


def test_a_fork_of_a_job_ends_by_a_signal(children: Children) -> None:
    assert result(run(children, cpu_work.with_a_fork)) == -signal.SIGTERM


# --- how many --------------------------------------------------------------------------------


def test_one_process_runs_many_tasks(children: Children) -> None:
    assert len({result(run(children, cpu_work.pid)) for _ in range(20)}) == 1


def test_never_more_than_at_most() -> None:
    with closing(Children(2)) as made, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: run(made, cpu_work.pid), range(40)))
    assert 1 <= len({result(one) for one in answers}) <= 2


def test_less_than_one_is_refused() -> None:
    with pytest.raises(InvalidOption, match="one process is the least"):
        Children(0)


# --- where it is found -----------------------------------------------------------------------


def test_a_child_has_the_path_and_folder_of_its_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "plug-ins"))
    with closing(Children(1, environment={**os.environ, "COLOUR": "blue"})) as made:
        assert result(run(made, cpu_work.where)) == [sys.path, str(tmp_path), [], "blue"]


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("tests.jobs.cpu_work", "_until")])
def test_names_that_no_job_was_declared_with_are_refused(
    children: Children, module: str, name: str
) -> None:
    hostile = Task(module, name, '"true"', None, 1, "", "", "work")
    with pytest.raises(InvalidOption, match="no job"):
        children.run(hostile, on_told=print, give_up=lambda: False, deadline=0)


def test_what_cannot_be_found_again_is_refused() -> None:
    def local() -> None: ...

    for function in (local, lambda: None, partial(print), cpu_work.Outer()):
        with pytest.raises(InvalidOption, match="at the top of a module"):
            address_of(function)  # type: ignore[arg-type]


def test_a_name_that_is_gone_is_told(children: Children) -> None:
    def gone() -> None: ...

    gone.__module__, gone.__qualname__ = cpu_work.__name__, "gone"
    ended = run(children, gone)
    assert "has no gone when another process imports it" in str(ended.error)


SCRIPT = """
import time
from todoke.jobs.address import address_of
from todoke.jobs.children import Children
from todoke.jobs.wire import Task

def here(number: int) -> str:
    return f"{__name__} {number}"

if __name__ == "__main__":
    children = Children(1)
    for _ in range(2):
        task = Task(*address_of(here), "3", None, 1, "key", "7", "work")
        later = time.monotonic() + 60
        print(children.run(task, on_told=print, give_up=lambda: False, deadline=later).result)
    children.close()
"""


@pytest.mark.parametrize(
    ("arguments", "name"), [(["script.py"], "__todoke_script__"), (["-m", "script"], "script")]
)
def test_functions_of_a_script_are_found(tmp_path: Path, arguments: list[str], name: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    said = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert said.stdout == f'"{name} 3"\n' * 2
    assert said.stderr == ""


LEAVING = """
import os, signal, socket
from todoke.jobs.child import Child, GivenUp
from todoke.jobs.wire import Wire

worker, wire = socket.socketpair()
child = Child(Wire(wire), wire)
child._given_up = True
try:
    child.work()
except GivenUp:
    os.kill(os.getpid(), signal.SIGTERM)
    print("left in peace", flush=True)
    os._exit(0)
"""


def test_a_child_that_has_found_out_that_it_is_to_end_is_not_interrupted_once_more() -> None:
    """JB-9: on its way out a second interruption would be printed as an error"""
    said = subprocess.run(
        [sys.executable, "-c", LEAVING], capture_output=True, text=True, check=False
    )
    assert (said.stdout, said.stderr) == ("left in peace\n", "")


def test_functions_that_were_typed_in_are_refused(tmp_path: Path) -> None:
    program = SCRIPT.replace("children = Children(1)", "address_of(here)")
    said = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "here was typed in" in said.stderr
