"""Schedules as they are declared and configured, and when they are due."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from time import perf_counter
from typing import Any

import pytest
from pydantic import BaseModel

from todoke import Context, Settings, Todoke
from todoke.errors import DuplicateName, InvalidArgument, InvalidOption, NotFound
from todoke.testing import Harness

START = datetime(2026, 1, 1, tzinfo=UTC)


class Export(BaseModel):
    day: date


def undeclared(settings: dict[str, object] | None = None, **environment: str) -> Todoke:
    """Two jobs without a schedule, on no database."""
    app = Todoke("sqlite://", settings=Settings(settings or {}, environment=environment))

    @app.job()
    def report() -> None: ...

    @app.job()
    def export(export: Export) -> None: ...

    return app


def job(app: Todoke, name: str) -> Any:
    return next(one for one in app.declared_jobs if one.name == name)


def told(app: Todoke, name: str = "report") -> tuple[str, str, str]:
    schedule = app.handlers.schedules[name]
    return schedule.timetable.text, schedule.timetable.zone, schedule.policy


# --- declared --------------------------------------------------------------------------------


def test_a_schedule_has_its_jobs_name_unless_it_is_given_one() -> None:
    """JB-2: so that a job may have several."""
    app = undeclared()
    app.schedule(job(app, "report"), cron="0 1 * * *", tz="Asia/Tokyo")
    app.schedule(job(app, "report"), every="5m", missed="skip", overlap="queue", name="often")
    assert told(app) == ("0 1 * * *", "Asia/Tokyo", "missed=latest cap=100 overlap=skip")
    assert told(app, "often") == ("every 5m", "UTC", "missed=skip cap=100 overlap=queue")


def test_what_is_declared_later_is_known() -> None:
    app = undeclared()
    assert app.handlers.schedules == {}
    app.schedule(job(app, "report"), every="5m")
    assert list(app.handlers.schedules) == ["report"]


def test_a_schedule_belongs_to_any_context_of_the_application() -> None:
    app, shipping = undeclared(), Context("shipping")
    app.include(shipping)
    shipping.schedule(job(app, "report"), every="5m")
    assert list(app.handlers.schedules) == ["report"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "say either"),
        ({"cron": "0 1 * * *", "every": "1h"}, "say either"),
        ({"cron": "0 25 * * *"}, "hour"),
        ({"cron": "0 0 31 2 *"}, "day-of-month"),
        ({"cron": "0 1 * * *", "tz": "Mars/Olympus"}, "IANA"),
        ({"every": "100ms"}, "whole seconds"),
        ({"every": 5}, "no unit"),
        ({"every": "5m", "missed": "never"}, "one of skip, latest, all"),
        ({"every": "5m", "overlap": "maybe"}, "one of skip, queue, allow"),
        ({"every": "5m", "cap": 0}, "1 to 10,000"),
        ({"every": "5m", "jitter": 3}, "no unit"),
        ({"every": "5m", "name": "a/b"}, 'no "/"'),
    ],
)
def test_what_cannot_be_meant_stops_the_start(options: dict[str, Any], said: str) -> None:
    """JB-2: not at its first tick."""
    app = undeclared()
    app.schedule(job(app, "report"), **options)
    with pytest.raises(InvalidOption, match=said):
        _ = app.handlers
    assert any(finding.verdict == "bad" for finding in app.check())


def test_an_option_that_is_none_is_refused_at_once() -> None:
    app = undeclared()
    with pytest.raises(InvalidOption, match="evry"):
        app.schedule(job(app, "report"), evry="5m")  # type: ignore[call-overload]
    with pytest.raises(InvalidOption, match="pass a job"):
        app.schedule(print, every="5m")  # type: ignore[call-overload]


def test_two_schedules_of_one_name_are_refused() -> None:
    app = undeclared()
    for every in ("5m", "1h"):
        app.schedule(job(app, "report"), every=every)
    with pytest.raises(DuplicateName, match="report"):
        _ = app.handlers


def test_arguments_are_checked_at_start() -> None:
    app = undeclared()
    app.schedule(job(app, "export"), every="1d")
    with pytest.raises(InvalidOption, match="takes an argument"):
        _ = app.handlers
    app = undeclared()
    app.schedule(job(app, "report"), 7, every="1d")
    with pytest.raises(InvalidOption, match="takes no argument"):
        _ = app.handlers
    app = undeclared()
    app.schedule(job(app, "export"), {"day": "someday"}, every="1d")
    with pytest.raises(InvalidArgument, match="day"):
        _ = app.handlers


def test_a_job_of_another_application_is_refused() -> None:
    app, other = undeclared(), Todoke("sqlite://", settings=Settings({}, environment={}))
    other.schedule(job(app, "report"), every="1d")
    with pytest.raises(InvalidOption, match="not in this application"):
        _ = other.handlers


# --- configured ------------------------------------------------------------------------------


def test_configuration_wins_over_code() -> None:
    """JB-7: a text is the cron expression; other options stay as the code has them."""
    app = undeclared({"jobs.schedule.report": "30 2 * * *"})
    app.schedule(job(app, "report"), every="5m", tz="Asia/Tokyo", missed="skip")
    assert told(app) == ("30 2 * * *", "Asia/Tokyo", "missed=skip cap=100 overlap=skip")


def test_configuration_may_name_each_option() -> None:
    """JB-7"""
    options = {"every": "10m", "missed": "all", "cap": 3, "overlap": "queue", "jitter": "5s"}
    app = undeclared({"jobs": {"schedule": {"report": options}}})
    app.schedule(job(app, "report"), cron="0 1 * * *")
    assert told(app) == ("every 10m", "UTC", "missed=all cap=3 overlap=queue jitter=5s")


def test_the_environment_wins_over_both() -> None:
    """JB-7: changed without a change of code."""
    app = undeclared(
        {"jobs.schedule.report": "30 2 * * *"},
        TODOKE_JOBS_SCHEDULE_REPORT="45 3 * * *",
        TODOKE_JOBS_SCHEDULE_REPORT_CAP="5",
    )
    assert told(app) == ("45 3 * * *", "UTC", "missed=latest cap=5 overlap=skip")


def test_configuration_alone_schedules_the_job_of_that_name() -> None:
    """JB-7"""
    assert told(undeclared({"jobs.schedule.report": "@daily"})) == (
        "@daily",
        "UTC",
        "missed=latest cap=100 overlap=skip",
    )
    assert told(undeclared({}, TODOKE_JOBS_SCHEDULE_REPORT_EVERY="1h"))[0] == "every 1h"
    assert undeclared({"jobs.schedule.report": "off"}).handlers.schedules == {}


def test_configuration_cannot_give_an_argument() -> None:
    """JB-7: a job that takes one is refused."""
    app = undeclared({"jobs.schedule.export": "@daily"})
    with pytest.raises(InvalidOption, match=r"jobs\.schedule\.export.*only code can give"):
        _ = app.handlers


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"jobs.schedule.reprot": "@daily"}, r"jobs\.schedule\.reprot.*Known: export, report"),
        ({"jobs.enabled.reprot": False}, r"jobs\.enabled\.reprot.*Known: export, report"),
        ({"jobs.schedule.report": "daily at noon"}, r"jobs\.schedule\.report"),
        ({"jobs.schedule.report.tz": "Asia/Tokyo"}, r"jobs\.schedule\.report.*say either"),
        ({"jobs.schedule.report": "@daily", "jobs.schedule.report.tz": "Mars"}, "IANA"),
        ({"jobs.schedule.report.every": "5m", "jobs.schedule.report.cap": "x"}, "cap"),
        ({"jobs.enabled.report": "perhaps"}, r"jobs\.enabled\.report"),
    ],
)
def test_configuration_is_checked_at_start(settings: dict[str, object], said: str) -> None:
    """JB-4, JB-7: a misspelt name stops the start, too."""
    with pytest.raises(InvalidOption, match=said):
        _ = undeclared(settings).handlers


# --- when ------------------------------------------------------------------------------------


def test_the_next_due_times_tell_where_the_clock_is_changed() -> None:
    """JB-2: without asking a database."""
    app = undeclared()
    app.schedule(job(app, "report"), cron="30 2 * * *", tz="Europe/Berlin")
    dues = app.schedules.next("report", 3, after=datetime(2026, 3, 28, tzinfo=UTC))
    assert [(f"{due.local:%d %H:%M}", due.mark) for due in dues] == [
        ("28 02:30", ""),
        ("29 03:00", "skipped hour"),
        ("30 02:30", ""),
    ]
    with pytest.raises(NotFound, match="reprot"):
        app.schedules.next("reprot")


def test_a_year_of_ticks_takes_milliseconds() -> None:
    app = undeclared()
    app.schedule(job(app, "report"), cron="0 1 * * *", tz="Asia/Tokyo")
    started = perf_counter()
    dues = app.schedules.between("report", START, START + timedelta(days=365))
    assert len(dues) == 365
    assert perf_counter() - started < 1


def test_the_soonest_of_all() -> None:
    app = undeclared()
    assert app.schedules.soonest(START) is None
    app.schedule(job(app, "report"), cron="0 1 * * *")
    app.schedule(job(app, "report"), cron="0 2 * * *", name="later")
    assert app.schedules.soonest(START) == START + timedelta(hours=1)


# --- in users' tests -------------------------------------------------------------------------


def test_a_test_moves_the_clock_and_drains() -> None:
    """JB-2: what was due since the application was put there is run."""
    app = undeclared()
    done: list[int] = []

    @app.job()
    def count() -> None:
        done.append(1)

    app.schedule(count, every="12h", missed="all")
    for _ in range(2):
        with Harness(app) as todoke:
            todoke.clock.advance("1d")
            todoke.drain()
            assert len(done) == 2
            done.clear()
