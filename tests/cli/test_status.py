"""`todoke status`."""

from __future__ import annotations

import json
import signal
import subprocess

from tests.application import register
from tests.cli.parcels import ParcelLost, ParcelSent
from tests.cli.project import COMMAND, Project, environment
from tests.waiting import until
from todoke import Breaker, Limit
from todoke.limits import Bounds
from todoke.work.strand import LANES

LIGHT = ParcelSent(parcel=1, mail="mika@example.com", weight=3)
HEAVY = ParcelSent(parcel=2, mail="mika@example.com", weight=300)


def test_the_figures_are_told_in_json(any_project: Project) -> None:
    """ER-3: pending, processed and dead are counted."""
    any_project.publish(LIGHT, HEAVY)
    any_project.app.drain()
    any_project.publish(LIGHT)
    told = any_project.ask("status")
    assert told.pop("oldest_pending_seconds") >= 0
    assert told.pop("oldest_hold_seconds") >= 0
    assert told == {
        "pending": 1,
        "processing": 0,
        "processed_last_minute": 1,
        "dead_letters": 1,
        "held_keys": 1,
        "behind_a_key": 0,
        "destinations": [],
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


def test_a_worker_is_shown_with_its_lanes(any_project: Project) -> None:
    """OB-9: one that works alone has them all."""
    with any_project.worker():
        until(lambda: [one["lanes"] for one in any_project.ask("status")["workers"]] == [LANES], 30)
        said = any_project.run("status").stdout
    assert said.splitlines()[-1].endswith(f"ok     {LANES}")


def test_keys_that_wait_are_told(any_project: Project) -> None:
    """OB-9: how many, since when, and how many events wait behind them."""
    any_project.publish(HEAVY, LIGHT, HEAVY, HEAVY)
    any_project.app.drain()
    told = any_project.ask("status")
    assert (told["held_keys"], told["behind_a_key"], told["pending"]) == (1, 2, 2)
    said = any_project.run("status").stdout
    assert "held keys             1  the oldest for " in said
    assert "; behind them 2 wait" in said


def test_no_key_waits(project: Project) -> None:
    """OB-9: there is no oldest one then."""
    assert project.ask("status")["oldest_hold_seconds"] is None
    assert "held keys             0\n" in project.run("status").stdout


def test_destinations_are_told(any_project: Project) -> None:
    """OB-15: which rest and until when, and how many slots are taken."""
    app = any_project.app
    owner = register(app)
    psp = Bounds("psp", limit=Limit(4), breaker=Breaker("psp", failures=1, rest="1h"))
    with app.engine.begin() as connection:
        app.destinations.destination(Bounds("mail", limit=Limit(2))).room(connection, owner, 1)
        destination = app.destinations.destination(psp)
        destination.room(connection, owner, 3)
        assert destination.failed("transient")
        destination.open(connection)
    mail, resting = any_project.ask("status")["destinations"]
    assert mail == {"name": "mail", "open_until": None, "slots_held": 1}
    assert (resting["name"], resting["slots_held"]) == ("psp", 3)
    assert resting["open_until"] is not None
    said = any_project.run("status").stdout
    assert "2 destinations" in said
    assert "mail  closed" in said
    assert "psp   open until " in said


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
