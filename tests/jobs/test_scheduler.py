"""Every due time is accounted for: enqueued once, or a row says why it was not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import event

from tests.application import application
from tests.jobs.ticking import (
    accounted,
    advance,
    counted,
    enqueue_due,
    fates,
    living_jobs,
    runs,
    scheduler,
    statuses,
    ticks,
)
from todoke import Run, Todoke
from todoke.clock import SystemClock
from todoke.jobs.run import Tick
from todoke.testing import Clock

START = datetime(2026, 1, 1, tzinfo=UTC)


def add_report(app: Todoke, **options: object) -> list[Tick]:
    """A recurring job without argument; answers which ticks it has seen."""
    seen: list[Tick] = []

    @app.job()
    def report(run: Run) -> None:
        assert run.tick is not None
        seen.append(run.tick)

    app.schedule(report, **{"every": "1h", **options})  # type: ignore[call-overload]
    return seen


# --- in time ---------------------------------------------------------------------------------


def test_each_tick_is_enqueued_once_and_its_run_knows_it(migrated_url: str) -> None:
    """JB-2: however many schedulers look, and however often."""
    with application(migrated_url) as app:
        seen = add_report(app, cron="0 * * * *", every=None)
        for _ in range(3):
            advance(app, "1h")
            enqueue_due(app)
            enqueue_due(app)
            app.drain()
        assert [one.due.hour for one in seen] == [1, 2, 3]
        assert {one.missed for one in seen} == {False}
        assert fates(app, "report") == [("01:00", "RAN"), ("02:00", "RAN"), ("03:00", "RAN")]
        assert [(run.schedule, run.tick.hour) for run in runs(app)] == [
            ("report", hour) for hour in (1, 2, 3)
        ]
        assert accounted(app, "report") == START + timedelta(hours=3)


def test_a_new_schedule_begins_now(migrated_url: str) -> None:
    """JB-2: nothing is due of the time before it was there."""
    with application(migrated_url, clock=SystemClock()) as app:
        add_report(app, every="1s", missed="all")
        before = datetime.now(UTC) - timedelta(seconds=1)
        enqueue_due(app)
        assert accounted(app, "report") >= before
        assert all(one.due >= before for one in ticks(app, "report"))


@pytest.mark.parametrize(("late", "status"), [("60s", "RAN"), ("61s", "LATE")])
def test_a_tick_is_late_after_a_minute(sqlite_copy: str, late: str, status: str) -> None:
    """JB-2: its run knows by how much, and that it was caught up."""
    with application(sqlite_copy) as app:
        seen = add_report(app)
        advance(app, "1h")
        advance(app, late)
        app.drain()
        (tick,) = seen
        assert (tick.due, tick.late_by) == (START + timedelta(hours=1), app.clock.now() - tick.due)
        assert tick.missed == (status == "LATE")
        assert statuses(app, "report") == status


def test_a_scheduler_rests_until_something_is_due(sqlite_copy: str) -> None:
    """JB-2: and looks now and then all the same."""
    with application(sqlite_copy) as app, app.engine.connect() as connection:
        add_report(app)
        agent = scheduler(app)
        agent.catch_up(connection)
        assert agent.tick(connection) == 5.0
        advance(app, "59m")
        advance(app, "58s")
        assert agent.tick(connection) == pytest.approx(2.0)


def test_a_scheduler_looks_often_while_a_tick_waits(sqlite_copy: str) -> None:
    """JB-2: for the end of the run before it; and is in time for the next."""
    with application(sqlite_copy) as app, app.engine.connect() as connection:
        add_report(app, overlap="queue")
        agent = scheduler(app)
        for _ in range(2):
            advance(app, "1h")
            agent.catch_up(connection)
        assert statuses(app, "report") == "RAN WAITING"
        assert agent.tick(connection) == 1.0
        advance(app, "3599.5s")
        assert agent.tick(connection) == pytest.approx(0.5)


def test_an_application_without_schedules_asks_nothing(sqlite_copy: str) -> None:
    with application(sqlite_copy) as app:
        said: list[str] = []
        event.listen(app.engine, "before_cursor_execute", lambda *told: said.append(told[2]))
        app.drain()
        assert said
        assert not [one for one in said if "todoke_schedules" in one or "todoke_ticks" in one]


# --- nobody was there ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missed", "wanted"),
    [
        ("skip", "MISSED MISSED MISSED MISSED MISSED"),
        ("latest", "MISSED MISSED MISSED MISSED LATE"),
        ("all", "LATE LATE LATE LATE LATE"),
    ],
)
def test_missed_ticks_are_caught_up_as_asked(migrated_url: str, missed: str, wanted: str) -> None:
    """JB-2: those that are not caught up are told, too."""
    with application(migrated_url) as app:
        seen = add_report(app, missed=missed)
        advance(app, "5h")
        advance(app, "30m")
        app.drain()
        assert statuses(app, "report") == wanted
        assert len(seen) == wanted.count("LATE")
        assert all(one.missed for one in seen)
        assert all(one.reason for one in ticks(app, "report"))


def test_all_means_the_newest_up_to_its_cap(sqlite_copy: str) -> None:
    with application(sqlite_copy) as app:
        seen = add_report(app, missed="all", cap=2)
        advance(app, "5h")
        app.drain()
        assert [one.due.hour for one in seen] == [4, 5]
        assert statuses(app, "report") == "MISSED MISSED MISSED LATE RAN"


def test_what_is_caught_up_does_not_overlap_itself(sqlite_copy: str) -> None:
    """JB-2: one after the other, and fresh ticks are skipped meanwhile as ever."""
    with application(sqlite_copy) as app:
        add_report(app, missed="all")
        advance(app, "3h")
        advance(app, "30m")
        enqueue_due(app)
        enqueue_due(app)
        assert statuses(app, "report") == "LATE WAITING WAITING"
        assert len(living_jobs(app)) == 1
        advance(app, "30m")
        enqueue_due(app)
        assert statuses(app, "report") == "LATE WAITING WAITING SKIPPED"
        app.drain()
        assert statuses(app, "report") == "LATE LATE LATE SKIPPED"
        assert len(runs(app)) == 3


@pytest.mark.parametrize(
    ("timetable", "total"),
    [({"every": "1s"}, 30 * 86_400), ({"cron": "*/2 * * * *", "every": None}, 30 * 720)],
    ids=["every second", "every other minute"],
)
@pytest.mark.parametrize("missed", ["skip", "latest", "all"])
def test_a_long_gap_costs_few_rows(
    sqlite_copy: str, timetable: dict[str, str], total: int, missed: str
) -> None:
    """JB-2: a row of missed ones stands for many, and none of them is forgotten."""
    with application(sqlite_copy) as app:
        add_report(app, **timetable, missed=missed, cap=10, overlap="allow")
        advance(app, "30d")
        enqueue_due(app)
        found = ticks(app, "report")
        assert len(found) <= 200
        assert counted(app, "report") == total
        assert accounted(app, "report") == app.clock.now()
        wanted = {"skip": (1, 10), "latest": (1, 1), "all": (10, 10)}[missed]
        assert wanted[0] <= len(living_jobs(app)) <= wanted[1]
        stretches = [one for one in found if one.count > 1]
        assert stretches
        assert all(one.last_due for one in stretches)


def test_a_changed_timetable_goes_on_from_where_it_is(sqlite_copy: str) -> None:
    """JB-7: what is accounted for stays so, the rest is due as it says now."""
    clock = Clock()
    with application(sqlite_copy, clock=clock) as app:
        add_report(app, every="1h")
        clock.advance("2h")
        enqueue_due(app)
    with application(sqlite_copy, clock=clock) as app:
        add_report(app, cron="30 * * * *", every=None, overlap="allow")
        clock.advance("1h")
        enqueue_due(app)
        assert fates(app, "report")[-2:] == [("02:00", "RAN"), ("02:30", "LATE")]
        with app.session() as session:
            (told,) = app.schedules.list(session)
        assert told.timetable == "30 * * * *"


# --- overlap ---------------------------------------------------------------------------------


def test_a_tick_is_skipped_while_the_run_before_is_going(migrated_url: str) -> None:
    """JB-2: a recurring job does not overlap itself."""
    with application(migrated_url) as app:
        add_report(app)
        advance(app, "1h")
        enqueue_due(app)
        advance(app, "1h")
        enqueue_due(app)
        assert statuses(app, "report") == "RAN SKIPPED"
        assert ticks(app, "report")[-1].reason == (
            "the run of 2026-01-01 01:00:00 UTC is still going"
        )
        app.drain()
        advance(app, "1h")
        app.drain()
        assert statuses(app, "report") == "RAN SKIPPED RAN"


def test_a_tick_waits_for_the_run_before(migrated_url: str) -> None:
    """JB-2: overlap="queue": one at a time, and no tick of the queue counts as missed."""
    with application(migrated_url) as app:
        seen = add_report(app, overlap="queue", missed="skip", cap=2)
        for _ in range(4):
            advance(app, "1h")
            enqueue_due(app)
        assert statuses(app, "report") == "RAN WAITING WAITING MISSED"
        assert len(living_jobs(app)) == 1
        app.drain()
        assert statuses(app, "report") == "RAN LATE LATE MISSED"
        assert [(one.due.hour, one.missed) for one in seen] == [(1, False), (2, False), (3, False)]


def test_runs_may_overlap_where_it_is_allowed(sqlite_copy: str) -> None:
    with application(sqlite_copy) as app:
        add_report(app, overlap="allow")
        for _ in range(2):
            advance(app, "1h")
            enqueue_due(app)
        assert statuses(app, "report") == "RAN RAN"
        assert len(living_jobs(app)) == 2


# --- switched off ----------------------------------------------------------------------------


def test_a_job_that_is_off_is_recorded_as_skipped(migrated_url: str) -> None:
    """JB-4: with a row in the history of runs, and no job."""
    with application(migrated_url, settings={"jobs.enabled.report": False}) as app:
        seen = add_report(app)
        advance(app, "1h")
        app.drain()
        assert statuses(app, "report") == "SKIPPED"
        (run,) = runs(app)
        assert (run.job, run.status, run.note, run.schedule, run.tick) == (
            "report",
            "SKIPPED",
            "jobs.enabled.report is off",
            "report",
            START + timedelta(hours=1),
        )
        assert not living_jobs(app)
        assert not seen


def test_a_long_time_off_costs_one_row(sqlite_copy: str) -> None:
    """JB-4"""
    with application(sqlite_copy, settings={"jobs.enabled.report": False}) as app:
        add_report(app, every="1s")
        advance(app, "30d")
        enqueue_due(app)
        assert counted(app, "report") == 30 * 86_400
        assert {one.status for one in ticks(app, "report")} == {"SKIPPED"}
        assert len(runs(app)) == len(ticks(app, "report")) < 200


def test_a_schedule_that_is_off_enqueues_nothing(sqlite_copy: str) -> None:
    """JB-7: and catches nothing up when it is switched on again."""
    clock = Clock()
    with application(sqlite_copy, clock=clock, settings={"jobs.schedule.report": "off"}) as app:
        add_report(app)
        clock.advance("2h")
        enqueue_due(app)
        assert ticks(app, "report")[-1].reason == "jobs.schedule.report is off"
    with application(sqlite_copy, clock=clock) as app:
        add_report(app)
        enqueue_due(app)
        assert statuses(app, "report") == "SKIPPED SKIPPED"
        assert not runs(app)


def test_a_paused_schedule_skips_its_ticks(migrated_url: str) -> None:
    with application(migrated_url) as app:
        add_report(app)
        with app.session() as session:
            app.schedules.pause(session, "report", by="ken", reason="stock-taking")
        advance(app, "1h")
        app.drain()
        assert [(one.status, one.reason) for one in ticks(app, "report")] == [
            ("SKIPPED", "paused by ken: stock-taking")
        ]
        with app.session() as session:
            app.schedules.resume(session, "report", by="ken", reason="done")
        advance(app, "1h")
        app.drain()
        assert statuses(app, "report") == "SKIPPED RAN"


# --- jobs of ticks ---------------------------------------------------------------------------


def test_an_argument_is_made_of_the_tick(migrated_url: str) -> None:
    """JB-2: and one that cannot be made skips its tick, not the others."""
    with application(migrated_url) as app:
        exported: list[str] = []

        @app.job()
        def export(day: str) -> None:
            exported.append(day)

        def day_of(tick: Tick) -> str:
            if tick.due.day == 3:
                raise ValueError("there is no third")
            return f"{tick.due:%Y-%m-%d}"

        app.schedule(export, day_of, cron="30 1 * * *", tz="Asia/Tokyo")
        for _ in range(3):
            advance(app, "1d")
            app.drain()
        assert exported == ["2026-01-01", "2026-01-02"]
        assert statuses(app, "export") == "LATE LATE SKIPPED"
        assert "ValueError: there is no third" in str(ticks(app, "export")[-1].reason)
        advance(app, "1d")
        app.drain()
        assert exported[-1] == "2026-01-04"


def test_jitter_spreads_the_starts_and_is_the_same_for_all(migrated_url: str) -> None:
    with application(migrated_url) as app:
        add_report(app, every="10m", jitter="5m", overlap="allow")
        for _ in range(8):
            advance(app, "10m")
            enqueue_due(app)
        starts = [one.scheduled_at - START for one in living_jobs(app)]
        waits = [start - number * timedelta(minutes=10) for number, start in enumerate(starts, 1)]
        assert all(timedelta(0) <= wait < timedelta(minutes=5) for wait in waits)
        assert len(set(waits)) == len(waits)
        assert [one.due for one in ticks(app, "report")] == [
            START + number * timedelta(minutes=10) for number in range(1, 9)
        ]
        (schedule,) = app.handlers.schedules.values()
        again = [schedule.start_of(one.due, app.name) - START for one in ticks(app, "report")]
        pairs = zip(again, starts, strict=True)
        assert all(abs(one - other).total_seconds() < 0.001 for one, other in pairs)


def test_applications_that_share_a_database_keep_their_own_schedules(migrated_url: str) -> None:
    """Their names may be the same."""
    clock = Clock()
    with (
        application(migrated_url, clock=clock, settings={"name": "one"}) as one,
        application(migrated_url, clock=clock, settings={"name": "other"}) as other,
    ):
        add_report(one, every="1h")
        add_report(other, every="30m", overlap="allow")
        with one.session() as session:
            one.schedules.pause(session, "report", by="ken", reason="mine alone")
        clock.advance("1h")
        for app in (one, other):
            enqueue_due(app)
        assert fates(one, "report") == [("01:00", "SKIPPED")]
        assert fates(other, "report") == [("00:30", "MISSED"), ("01:00", "RAN")]
