"""`todoke worker`: what happens when one of its processes ends, or when it is killed itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.parcels import ParcelSent, ParcelStuck
from tests.cli.project import APP, SOURCE, Project, environment, is_running, until_ended
from tests.waiting import until
from todoke.cli.worker.supervisor import Supervisor
from todoke.databases.schema import REVISION
from todoke.errors import SchemaOutdated

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)

IN_A_CHILD = "import os, sys\nif sys.argv[0].endswith('child.py'):\n    "


def test_the_processes_of_a_killed_supervisor_end(any_project: Project) -> None:
    """OB-7: nobody is left to run in the dark, and they leave in order."""
    with any_project.worker("--processes", "2") as worker:
        until(lambda: len(any_project.workers()) == 2, 30)
        children = any_project.workers()
        worker.kill()
        until_ended(children)
    assert not any_project.workers()


def test_a_killed_process_is_started_again(any_project: Project) -> None:
    """OB-7: work goes on in another one."""
    with any_project.worker() as worker:
        until(any_project.workers, 30)
        first = any_project.workers().pop()
        os.kill(first, signal.SIGKILL)
        until(lambda: any_project.workers() - {first}, 30)
        any_project.publish(LIGHT)
        until(lambda: any_project.has("PROCESSED"), 30)
        worker.terminate()
        assert worker.end() == 0
    assert f"process {first} was ended by SIGKILL; another starts in 0.1 s" in worker.err
    assert not is_running(first)


def test_the_pause_grows_while_processes_die_young(project: Project) -> None:
    """OB-7: a broken release does not burn the machine."""
    project.write(f"{IN_A_CHILD}os._exit(3)\n{SOURCE}")
    with project.worker() as worker:
        until(lambda: "starts in 0.4 s" in worker.err, 60)
        worker.terminate()
        assert worker.end() == 0
    pauses = [line.split()[-2] for line in worker.err.splitlines() if "exit code 3" in line]
    assert pauses[:3] == ["0.1", "0.2", "0.4"]


def test_a_process_that_does_not_stop_is_killed(project: Project) -> None:
    """OB-7: in the end a stop always stops, and says that it was no orderly one."""
    deaf = "import signal, threading\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    wait = "open('deaf', 'w').close()\nthreading.Event().wait()\n"
    project.write(deaf + wait)
    program = f"print(Supervisor(['{APP}'], places=1, patience=0.1).run())"
    with subprocess.Popen(
        [sys.executable, "-c", f"from {Supervisor.__module__} import Supervisor; {program}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as supervisor:
        until(Path("deaf").exists, 30)
        supervisor.terminate()
        said, complained = supervisor.communicate(timeout=30)
    assert said.startswith("Not all processes ended in time")
    assert "killed" in complained


def test_a_process_with_a_hung_handler_is_replaced_at_once(project: Project) -> None:
    """OB-7: its thread cannot be ended, so it is."""
    with project.worker() as worker:
        until(project.workers, 30)
        first = project.workers().pop()
        project.publish(ParcelStuck())
        until(lambda: project.workers() - {first}, 30)
        until_ended({first})
        worker.terminate()
        assert worker.end() == 0
    assert f"process {first} asked to be replaced" in worker.err


def test_missing_tables_are_told_once(empty_project: Project) -> None:
    """OB-7: a refusal ends everything with one line and exit code 1; nothing is tried again."""
    with empty_project.app.engine.connect(), empty_project.worker("--processes", "3") as worker:
        assert worker.end() == 1
    said = [line for line in worker.err.splitlines() if line.startswith("Error:")]
    assert said == [f"Error: {SchemaOutdated(None, REVISION)}"]
    assert "Traceback" not in worker.err


def test_a_database_that_is_away_is_waited_for(project: Project) -> None:
    """OB-7: one line for each try, no traceback, and no giving up."""
    away = "postgresql://mika:hidden@127.0.0.1:1/parcels"
    project.write(SOURCE.replace("build()", f"build('{away}')"))
    with project.worker() as worker:
        until(lambda: worker.err.count("cannot be reached") == 2, 60)
        worker.terminate()
        assert worker.end() == 0
    assert "Traceback" not in worker.err
    assert "hidden" not in worker.err
