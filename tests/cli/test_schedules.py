"""`todoke schedules`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.project import Project

SOURCE = """
from todoke import Todoke

app = Todoke()

@app.job()
def report() -> None: ...

app.schedule(report, cron="30 2 * * *", tz="Europe/Berlin", overlap="allow")
app.schedule(report, every="1h", name="often")
"""
KEN = ("--by", "ken", "--reason", "asked for")


@pytest.fixture
def scheduled(any_project: Project) -> Project:
    any_project.write(SOURCE)
    return any_project


@pytest.fixture
def on_sqlite(project: Project) -> Project:
    project.write(SOURCE)
    return project


def test_schedules_are_listed(scheduled: Project) -> None:
    """JB-2: with when they are due next, and who has paused them."""
    assert scheduled.run("schedules", "pause", "often", *KEN).exit_code == 0
    often, report = scheduled.ask("schedules", "list")
    assert (report["name"], report["timetable"], report["zone"]) == (
        "report",
        "30 2 * * *",
        "Europe/Berlin",
    )
    assert datetime.fromisoformat(report["next_due"]) > datetime.now(UTC)
    assert (often["paused_by"], often["paused_reason"]) == ("ken", "asked for")
    said = scheduled.run("schedules", "list").stdout
    assert "paused by ken: asked for" in said
    assert "every 1h" in said


def test_nothing_to_list(project: Project) -> None:
    assert "No schedule is declared" in project.run("schedules", "list").stderr


def test_the_next_due_times_mark_changes_of_the_clock(on_sqlite: Project) -> None:
    """JB-2: within a year it is changed twice."""
    told = on_sqlite.ask("schedules", "next", "report", "--count", "366")
    marks = [one["mark"] for one in told if one["mark"]]
    assert sorted(marks) == ["repeated hour", "skipped hour"]
    said = on_sqlite.run("schedules", "next", "report", "--count", "366").stdout
    assert "skipped hour" in said
    assert "CEST" in said
    assert len(said.splitlines()) == 367


def test_a_run_by_hand_is_in_the_ledger_of_ticks(scheduled: Project) -> None:
    """JB-1: with its author, its reason and its job."""
    told = scheduled.ask("schedules", "run", "report", *KEN)
    (tick,) = scheduled.ask("schedules", "ticks", "report")
    assert tick == told
    assert (tick["status"], tick["reason"]) == ("RAN", "run by ken: asked for")
    assert tick["job_id"] in scheduled.run("schedules", "ticks", "report").stdout
    said = scheduled.run("schedules", "run", "report", *KEN).stdout
    assert "is enqueued" in said
    scheduled.run("schedules", "run", "often", *KEN)
    assert "often: WAITING" in scheduled.run("schedules", "run", "often", *KEN).stdout


def test_no_tick_yet(on_sqlite: Project) -> None:
    assert "Nothing of report was due yet" in on_sqlite.run("schedules", "ticks", "report").stderr


def test_pausing_and_resuming(on_sqlite: Project) -> None:
    assert on_sqlite.ask("schedules", "pause", "report", *KEN)["changed"]
    assert "was paused already" in on_sqlite.run("schedules", "pause", "report", *KEN).stdout
    assert "goes on" in on_sqlite.run("schedules", "resume", "report", *KEN).stdout
    assert not on_sqlite.ask("schedules", "resume", "report", *KEN)["changed"]


def test_a_backfill_can_be_seen_first(scheduled: Project) -> None:
    """JB-2: days are those of the schedule's zone."""
    days = ("--from", "2026-03-28", "--to", "2026-03-30")
    backfill = ("schedules", "backfill", "report", *days, *KEN)
    would = scheduled.ask(*backfill, "--dry-run")
    assert [one["due"] for one in would] == [
        "2026-03-28T01:30:00+00:00",
        "2026-03-29T01:00:00+00:00",
        "2026-03-30T00:30:00+00:00",
    ]
    assert not scheduled.ask("schedules", "ticks", "report")
    assert "3 ticks would be backfilled" in scheduled.run(*backfill, "--dry-run").stdout
    done = scheduled.ask(*backfill)
    assert [one["status"] for one in done] == ["LATE"] * 3
    ledger = scheduled.ask("schedules", "ticks", "report")
    assert {one["reason"] for one in ledger} == {"backfill by ken: asked for"}
    assert "0 ticks are backfilled" in scheduled.run(*backfill).stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ticks", "reprot"), "No schedule reprot"),
        (("next", "reprot"), "No schedule reprot"),
        (("run", "reprot", *KEN), "No schedule reprot"),
        (("run", "report", "--by", " ", "--reason", "x"), "say who"),
        (("backfill", "reprot", *KEN, "--from", "2026-01-01", "--to", "2026-01-02"), "reprot"),
        (("backfill", "report", *KEN, "--from", "yesterday", "--to", "2026-01-02"), "--from"),
        (("backfill", "report", *KEN, "--from", "2026-01-02", "--to", "2026-01-01"), "ends"),
        (
            ("backfill", "report", *KEN, "--from", "2025-01-01", "--to", "2026-01-01"),
            "more than cap = 100",
        ),
    ],
)
def test_refusals_say_what_to_do(on_sqlite: Project, arguments: tuple[str, ...], said: str) -> None:
    result = on_sqlite.run("schedules", *arguments)
    assert result.exit_code == 1
    assert said in result.stderr


def test_acts_need_author_and_reason(on_sqlite: Project) -> None:
    for act in ("run", "pause", "resume"):
        assert on_sqlite.run("schedules", act, "report", "--by", "ken").exit_code == 2
        assert on_sqlite.run("schedules", act, "report", "--reason", "x").exit_code == 2


def test_late_ticks_say_how_late(on_sqlite: Project) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    days = ("--from", f"{yesterday:%Y-%m-%d}", "--to", f"{yesterday:%Y-%m-%d}")
    on_sqlite.run("schedules", "backfill", "report", *days, *KEN)
    assert "late" in on_sqlite.run("schedules", "ticks", "report").stdout
