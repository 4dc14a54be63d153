"""`todoke worker`: it delivers, and it stops in order."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.parcels import ParcelHeld, ParcelSent
from tests.cli.project import APP, SOURCE, Project, until_ended
from tests.waiting import until

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers may take longer than any test waits for the end of a command."""
    monkeypatch.setenv("TODOKE_WORKER_DRAIN_TIMEOUT", "10m")


def test_a_worker_delivers_and_stops_on_sigterm(any_project: Project) -> None:
    """OB-3, OB-7: what was published is processed; at the end no process is left."""
    any_project.publish(LIGHT, LIGHT)
    with any_project.worker("--processes", "2") as worker:
        until(lambda: any_project.has("PROCESSED", 2), 30)
        until(lambda: len(any_project.workers()) == 2, 30)
        children = any_project.workers()
        worker.terminate()
        assert worker.end() == 0
        until_ended(children, 0.1)
    assert not any_project.workers()
    assert "Traceback" not in worker.err


def test_the_first_line_tells_what_runs(project: Project) -> None:
    """OB-3: application, database without credentials, handlers, queues and processes."""
    with project.worker(APP, "--processes", "2", "--queues", "default=3,files=2") as worker:
        until(lambda: worker.out.endswith("\n"), 30)
        assert worker.out == (
            f"{APP} on {project.url}: 4 handlers, queues default=3, files=2, 2 processes\n"
        )


def test_queues_of_the_command_line_reach_the_processes(project: Project) -> None:
    """OB-3: only work of these queues is done."""
    with project.worker("--queues", "files=2") as worker:
        until(project.workers, 30)
        with project.app.engine.connect() as connection:
            (row,) = connection.execute(project.app.worker_table.select())
        worker.terminate()
        assert worker.end() == 0
    assert json.loads(row.queues) == {"files": 2}


def test_queues_that_code_has_set_are_not_overridden_in_silence(project: Project) -> None:
    """OB-3: an option without effect is refused."""
    project.write(
        "from todoke import Settings, Todoke\n"
        "app = Todoke(settings=Settings.load().with_values({'worker.queues': {'a': 1}}))\n"
    )
    with project.worker("--queues", "files=2") as worker:
        assert worker.end() == 1
    assert "--queues has no effect" in worker.err


def test_contexts_of_the_command_line_reach_the_processes(project: Project) -> None:
    """OB-11: only work of these contexts is done, and the first line says so."""
    project.publish(LIGHT)
    with project.worker("--context", "todoke") as worker:
        until(project.workers, 30)
        with project.app.engine.connect() as connection:
            (row,) = connection.execute(project.app.worker_table.select())
        worker.terminate()
        assert worker.end() == 0
    assert json.loads(row.contexts) == ["todoke"]
    assert ": 4 handlers, contexts todoke, queues default=16, 1 process\n" in worker.out
    assert project.has("PENDING")


def test_contexts_may_be_repeated_or_listed(project: Project) -> None:
    """OB-11: both ways of writing many."""
    with project.worker("--context", "todoke,parcels") as worker:
        project.publish(LIGHT)
        until(lambda: project.has("PROCESSED"), 30)
        assert "contexts todoke, parcels, queues" in worker.out
    with project.worker("--context", "todoke", "--context=parcels") as worker:
        project.publish(LIGHT)
        until(lambda: project.has("PROCESSED", 2), 30)
        assert "contexts todoke, parcels, queues" in worker.out


def test_a_context_that_is_not_there_is_refused(project: Project) -> None:
    """OB-11: a worker that finds nothing to do would be noticed late."""
    with project.worker("--context", "parcel") as worker:
        assert worker.end() == 1
    assert "no such context. Known: parcels, todoke." in worker.err


def test_contexts_that_code_has_set_are_not_overridden_in_silence(project: Project) -> None:
    """OB-11: an option without effect is refused."""
    project.write(
        "from todoke import Settings, Todoke\n"
        "app = Todoke(settings=Settings.load().with_values({'worker.contexts': ['a']}))\n"
    )
    with project.worker("--context", "todoke") as worker:
        assert worker.end() == 1
    assert "--context has no effect" in worker.err


def test_running_handlers_end_before_the_worker_does(project: Project) -> None:
    """OB-7: a stop waits for what runs, and hands nothing back."""
    project.publish(ParcelHeld())
    with project.worker() as worker:
        until(Path("held").exists, 30)
        worker.terminate()
        until(lambda: "stopping" in worker.err)
        Path("go").touch()
        assert worker.end() == 0
    assert project.has("PROCESSED")


def test_a_second_signal_does_not_wait_for_handlers(any_project: Project, patient: None) -> None:
    """OB-7: the message goes back at once, its attempt not counted."""
    any_project.publish(ParcelHeld())
    with any_project.worker() as worker:
        until(Path("held").exists, 30)
        worker.process.send_signal(signal.SIGINT)
        until(lambda: "stopping" in worker.err)
        worker.process.send_signal(signal.SIGINT)
        assert worker.end() == 0
    (back,) = any_project.events(status="PENDING")
    assert back.attempts == 0


def test_a_second_signal_is_not_lost_on_a_process_that_has_not_seen_the_first(
    project: Project, patient: None
) -> None:
    """OB-7: signals of one number that come together are one; both must count."""
    project.publish(ParcelHeld())
    with project.worker() as worker:
        until(Path("held").exists, 30)
        (child,) = project.workers()
        os.kill(child, signal.SIGSTOP)
        worker.process.send_signal(signal.SIGINT)
        until(lambda: "stopping" in worker.err)
        worker.process.send_signal(signal.SIGINT)
        until(lambda: "not waiting any longer" in worker.err)
        os.kill(child, signal.SIGCONT)
        assert worker.end() == 0
    (back,) = project.events(status="PENDING")
    assert back.attempts == 0


def test_handlers_log_one_line_with_their_message(project: Project) -> None:
    """OB-3: which message, handler and attempt; without personal data, in UTC."""
    project.publish(LIGHT)
    with project.worker() as worker:
        until(lambda: "goes to" in worker.err, 30)
    (line,) = [one for one in worker.err.splitlines() if "goes to" in one]
    (event,) = project.events()
    assert line.endswith(
        f"todoke.handler: parcel 1 goes to ***@example.com message_id={event.message_id}"
        " handler=tell attempt=1"
    )
    assert line.split()[0].endswith("Z")


def test_programs_get_log_lines_in_json(project: Project) -> None:
    """OB-3: every line is an object, the first one and the last one, too."""
    project.publish(LIGHT)
    with project.worker("--log-format", "json") as worker:
        until(lambda: "goes to" in worker.err, 30)
        worker.terminate()
        assert worker.end() == 0
    assert worker.out == ""
    told = [json.loads(line) for line in worker.err.splitlines()]
    assert "4 handlers" in told[0]["message"]
    (line,) = [one for one in told if one["logger"] == "todoke.handler"]
    assert (line["level"], line["handler"], line["attempt"]) == ("INFO", "tell", 1)


def test_an_application_keeps_its_own_log_lines(project: Project) -> None:
    """OB-3: whoever has set up logging gets it as it is."""
    project.write(
        f"import logging\nlogging.basicConfig(format='MINE %(message)s', level=20)\n{SOURCE}"
    )
    project.publish(LIGHT)
    with project.worker() as worker:
        until(lambda: "goes to" in worker.err, 30)
    assert "MINE parcel 1 goes to" in worker.err
