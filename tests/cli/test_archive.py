"""`todoke archive`: run, list, restore."""

from __future__ import annotations

import signal
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import insert, select, update

from tests.cli.parcels import ParcelLost, ParcelSent
from tests.cli.project import COMMAND, Project, environment
from tests.cli.terminal import on_a_terminal
from tests.waiting import until
from todoke import Todoke
from todoke.cli.reach import reading


@pytest.fixture
def archiving(any_project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with an archive; what it published is a month old."""
    monkeypatch.setenv("TODOKE_ARCHIVE_TO", str(any_project.folder / "archive"))
    grow_old(any_project)
    return any_project


def grow_old(project: Project, count: int = 3) -> None:
    """Parcels that arrived, and one that nobody wanted."""
    project.publish(*(ParcelSent(parcel=n, mail="m@example.com", weight=1) for n in range(count)))
    project.publish(ParcelLost())
    project.app.drain()
    age(project.app)


def multiply(project: Project, count: int) -> None:
    """One processed event, and copies of it."""
    grow_old(project, 1)
    history = project.app.outbox_table.history
    with project.app.engine.begin() as connection:
        row = dict(connection.execute(select(history)).one()._mapping)
        copies = [{**row, "id": row["id"] + n} for n in range(1, count)]
        connection.execute(insert(history), copies)


def kept(app: Todoke) -> int:
    with reading(app) as connection:
        return len(connection.execute(select(app.outbox_table.history.c.id)).all())


def age(app: Todoke) -> None:
    before = datetime.now(UTC) - timedelta(days=30)
    history, letters = app.outbox_table.history, app.letter_table
    with app.engine.begin() as connection:
        connection.execute(update(history).values(created_at=before, settled_at=before))
        connection.execute(update(letters).values(died_at=before))


def test_what_is_due_is_archived_listed_and_restored(archiving: Project) -> None:
    """OB-12 ER-5"""
    would = archiving.run("archive", "run", "--dry-run").stdout
    assert would.startswith("Would archive 3 events, 1 dead letter in ")
    assert archiving.has("PROCESSED", 3)
    assert archiving.run("archive", "run").stdout.startswith("Archived 3 events, 1 dead letter in ")
    assert archiving.events() == []
    assert archiving.run("archive", "run").stdout == "Nothing is due.\n"
    files = archiving.ask("archive", "list")
    assert {file["kind"]: file["rows"] for file in files} == {"event": 3, "dead-letter": 1}
    paths = [file["path"] for file in files]
    assert archiving.run("archive", "restore", *paths).stdout == (
        "Restored 1 dead letter, 3 events.\n"
    )
    assert archiving.run("archive", "restore", *paths).stdout == (
        "Nothing was restored.\nAlready there: 1 dead letter, 3 events.\n"
    )
    assert archiving.has("PROCESSED", 3)
    assert archiving.has("DEAD", 1)


def test_programs_are_answered_in_json(archiving: Project) -> None:
    """OB-12"""
    rows = {"event": 3, "delivery": 0, "ledger": 0, "dead-letter": 1}
    folder = str(archiving.folder / "archive")
    assert archiving.ask("archive", "run", "--dry-run") == {
        "dry_run": True, "archive": folder, "rows": rows
    }  # fmt: skip
    assert archiving.ask("archive", "run") == {"dry_run": False, "archive": folder, "rows": rows}
    names = [Path(file["path"]).name for file in archiving.ask("archive", "list")]
    wanted = archiving.ask("archive", "restore", *names, "--kind", "event")
    assert wanted == {"restored": {"event": 3}, "present": {}}


def test_the_list_is_readable(archiving: Project) -> None:
    """OB-12"""
    assert archiving.run("archive", "list").stderr == "The archive is empty.\n"
    archiving.run("archive", "run")
    head, *lines = archiving.run("archive", "list").stdout.splitlines()
    assert head.split() == ["FILE", "KIND", "ROWS", "FROM", "TO", "BYTES"]
    assert [line.split()[1:3] for line in lines] == [["dead-letter", "1"], ["event", "3"]]


def test_without_an_archive_it_says_that_it_deletes(any_project: Project) -> None:
    """OB-12 ER-5: and the open letter stays"""
    grow_old(any_project)
    assert any_project.run("archive", "run").stdout == "Deleted 3 events.\n"
    assert any_project.has("DEAD", 1)
    refused = any_project.run("archive", "list")
    assert (refused.exit_code, "Name a folder" in refused.stderr) == (1, True)


def test_a_folder_that_cannot_be_written_is_told(archiving: Project) -> None:
    """OB-12: nothing is deleted"""
    (archiving.folder / "archive").write_text("no folder")
    refused = archiving.run("archive", "run")
    assert refused.exit_code == 1
    assert "cannot be written" in refused.stderr
    assert archiving.has("PROCESSED", 3)


def test_a_person_sees_how_far_it_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-12"""
    monkeypatch.setenv("TODOKE_ARCHIVE_TO", str(project.folder / "archive"))
    grow_old(project)
    code, screen = on_a_terminal("archive", "run")
    assert code == 0
    assert "100%" in screen


def test_killed_and_started_again_it_goes_on(archiving: Project) -> None:
    """OB-12: what was archived before is not lost, nor is the rest"""
    crashing = {**environment(), "TODOKE_CRASH": "retention.after_write:1"}
    command = [*COMMAND, "archive", "run"]
    ended = subprocess.run(command, check=False, cwd=archiving.folder, env=crashing)
    assert ended.returncode == -signal.SIGKILL
    assert archiving.has("PROCESSED", 3)
    again = archiving.ask("archive", "run")["rows"]
    assert (again["event"], again["dead-letter"]) == (3, 1)
    rows = sum(file["rows"] for file in archiving.ask("archive", "list"))
    assert rows == 3 + 3 + 1


def test_interrupted_and_started_again_it_goes_on(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12: by Ctrl-C, in the middle"""
    monkeypatch.setenv("TODOKE_ARCHIVE_TO", str(project.folder / "archive"))
    many = 20_000
    multiply(project, many)
    command = [*COMMAND, "archive", "run"]
    with subprocess.Popen(
        command, cwd=project.folder, env=environment(), stderr=subprocess.PIPE, text=True
    ) as running:
        until(lambda: kept(project.app) < many, 60)
        running.send_signal(signal.SIGINT)
        told = running.communicate(timeout=60)[1]
    assert running.returncode != 0
    assert "run it again to go on" in told
    left = project.ask("archive", "run", "--dry-run")["rows"]["event"]
    assert 0 < left < many
    assert project.ask("archive", "run")["rows"]["event"] == left
    assert sum(file["rows"] for file in project.ask("archive", "list")) >= many


def test_a_worker_that_is_killed_while_it_cleans_loses_nothing(
    archiving: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-12: it is started again, and goes on"""
    monkeypatch.setenv("TODOKE_CRASH", "retention.before_commit:1")
    with archiving.worker() as command:
        until(lambda: len(_files(archiving)) > 1, 30)
        command.terminate()
        command.end()
    monkeypatch.delenv("TODOKE_CRASH")
    assert archiving.has("PROCESSED", 3), "deleted without a commit"
    assert archiving.ask("archive", "run")["rows"]["event"] == 3
    assert archiving.events() == []


def _files(project: Project) -> list[Path]:
    """Each process that began to archive has left one."""
    folder = project.folder / "archive"
    return list(folder.iterdir()) if folder.is_dir() else []
