"""`todoke status`."""

from __future__ import annotations

import json
import signal
import subprocess

from tests.cli.parcels import ParcelLost, ParcelSent
from tests.cli.project import COMMAND, Project, environment
from tests.waiting import until

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)
HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)


def test_the_figures_are_told_in_json(any_project: Project) -> None:
    """ER-3: pending, processed and dead are counted."""
    any_project.publish(LIGHT, HEAVY)
    any_project.app.drain()
    any_project.publish(LIGHT)
    told = any_project.ask("status")
    assert told["oldest_pending_seconds"] >= 0
    del told["oldest_pending_seconds"]
    assert told == {
        "pending": 1,
        "processing": 0,
        "processed_last_minute": 1,
        "dead_letters": 1,
        "workers": [],
    }


def test_nothing_pending_has_no_age(project: Project) -> None:
    """ER-3: there is no oldest one then."""
    assert project.ask("status")["oldest_pending_seconds"] is None


def test_the_screen_is_plain_where_nobody_looks(project: Project) -> None:
    """ER-3: no colours, no frames in a pipe."""
    project.publish(HEAVY, ParcelLost())
    said = project.run("status").stdout
    assert "pending               2  the oldest for " in said
    assert "no worker is running" in said
    assert said.isascii()
    assert "\x1b" not in said


def test_a_worker_is_shown_with_its_lease(any_project: Project) -> None:
    """OB-7: whoever works is named, and whether its lease is renewed in time."""
    with any_project.worker():
        until(any_project.workers, 30)
        (worker,) = any_project.ask("status")["workers"]
        assert worker["lease_ok"]
        assert worker["name"].endswith(f":{any_project.workers().pop()}")
        assert "1 worker" in any_project.run("status").stdout


def test_looking_waits_for_no_writer(project: Project) -> None:
    """OB-6: on SQLite, too, where only one transaction writes at a time."""
    with project.app.engine.begin():
        assert project.run("status").exit_code == 0
        assert project.run("events", "list").exit_code == 0
        assert project.run("dead-letters", "list").exit_code == 0


def test_watching_without_a_terminal_is_refused(project: Project) -> None:
    """ER-3: with the remedy in the refusal."""
    result = project.run("status", "--watch")
    assert result.exit_code == 1
    assert "--watch --json" in result.stderr


def test_a_program_can_watch(project: Project) -> None:
    """ER-3: one JSON object a line, until it is told to end."""
    with subprocess.Popen(
        [*COMMAND, "status", "--watch", "--json"], stdout=subprocess.PIPE, env=environment()
    ) as watching:
        assert watching.stdout is not None
        told = [json.loads(watching.stdout.readline()) for _ in range(2)]
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
    assert [one["pending"] for one in told] == [0, 0]
