"""What people do with schedules: look at them, run them, let them rest, backfill their ticks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.application import application
from tests.jobs.desk import operations
from tests.jobs.ticking import (
    advance,
    counted,
    enqueue_due,
    fates,
    living_jobs,
    runs,
    statuses,
    ticks,
)
from todoke import Todoke
from todoke.errors import InvalidOption, NotFound

START = datetime(2026, 1, 1, tzinfo=UTC)
KEN: Any = {"by": "ken", "reason": "asked for"}


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    """A job every hour; its jobs lie there until somebody drains."""
    with application(migrated_url) as app:

        @app.job()
        def report() -> None: ...

        app.schedule(report, every="1h")
        yield app


@pytest.fixture
def plain(sqlite_copy: str) -> Iterator[Todoke]:
    """The same on SQLite, and what runs may overlap."""
    with application(sqlite_copy) as app:

        @app.job()
        def report() -> None: ...

        app.schedule(report, every="1h", overlap="allow", missed="skip", jitter="30m")
        yield app


def test_schedules_are_listed(app: Todoke) -> None:
    with app.session() as session:
        app.schedules.pause(session, "report", by="ken", reason="stock-taking")
    advance(app, "90m")
    app.drain()
    with app.session() as session:
        (record,) = app.schedules.list(session)
    assert (record.name, record.job, record.timetable) == ("report", "report", "every 1h")
    assert record.next_due == START + timedelta(hours=2)
    assert (record.last_due, record.last_status) == (START + timedelta(hours=1), "SKIPPED")
    assert (record.paused_by, record.paused_since) == ("ken", START)


def test_a_run_by_hand_has_a_tick_of_its_own(app: Todoke) -> None:
    """JB-1: with author and reason; a tick that is due at that moment has its own, too."""
    advance(app, "1h")
    with app.session() as session:
        first = app.schedules.run(session, "report", **KEN)
    app.drain()
    with app.session() as session:
        second = app.schedules.run(session, "report", **KEN)
    app.drain()
    assert (first.status, first.reason) == ("RAN", "run by ken: asked for")
    assert second.job_id is not None
    assert statuses(app, "report") == "SKIPPED RAN RAN"
    assert len(runs(app)) == 2


def test_a_run_by_hand_waits_for_the_one_that_is_going(app: Todoke) -> None:
    """JB-2: a recurring job does not overlap itself, whoever asks."""
    advance(app, "1h")
    enqueue_due(app)
    with app.session() as session:
        told = app.schedules.run(session, "report", **KEN)
    assert (told.status, told.job_id) == ("WAITING", None)
    assert len(living_jobs(app)) == 1
    app.drain()
    assert statuses(app, "report") == "RAN RAN"
    assert len(runs(app)) == 2


def test_a_run_by_hand_starts_at_once(plain: Todoke) -> None:
    """Jitter is for ticks; a pause is, too."""
    with plain.session() as session:
        plain.schedules.pause(session, "report", **KEN)
        plain.schedules.run(session, "report", **KEN)
    plain.drain()
    assert statuses(plain, "report") == "RAN"
    assert len(runs(plain)) == 1


def test_a_run_by_hand_of_a_job_that_is_off_is_skipped(sqlite_copy: str) -> None:
    """JB-4"""
    with application(sqlite_copy, settings={"jobs.enabled.report": False}) as app:

        @app.job()
        def report() -> None: ...

        app.schedule(report, every="1h")
        with app.session() as session:
            told = app.schedules.run(session, "report", **KEN)
            with pytest.raises(InvalidOption, match="is off"):
                app.schedules.backfill(session, "report", START, START, **KEN)
        assert told.status == "SKIPPED"
        assert [run.status for run in runs(app)] == ["SKIPPED"]


def test_acts_need_an_author_and_a_reason(plain: Todoke) -> None:
    acts = plain.schedules
    with plain.session() as session:
        for act in (acts.run, acts.pause, acts.resume):
            with pytest.raises(InvalidOption, match="who"):
                act(session, "report", by=" ", reason="x")
            with pytest.raises(InvalidOption, match="why"):
                act(session, "report", by="ken", reason="")
            with pytest.raises(NotFound, match="reprot"):
                act(session, "reprot", **KEN)


def test_every_act_is_kept_with_who_and_why(plain: Todoke) -> None:
    """ER-4: also that of whoever resumed it; what changed nothing, or only looked, is none."""
    acts, ago = plain.schedules, START - timedelta(hours=3)
    with plain.session() as session:
        acts.pause(session, "report", by="ken", reason="stock-taking")
        acts.pause(session, "report", **KEN)
        acts.resume(session, "report", by="mika", reason="all counted")
        acts.resume(session, "report", **KEN)
        acts.run(session, "report", by="mika", reason="now")
        acts.backfill(session, "report", ago, START, by="ken", reason="a look", dry_run=True)
        acts.backfill(session, "report", ago, START, by="ken", reason="were down")
    assert operations(plain) == [
        ("pause", 1, "ken", "stock-taking"),
        ("resume", 1, "mika", "all counted"),
        ("run", 1, "mika", "now"),
        ("backfill", 4, "ken", "were down"),
    ]


def test_pausing_twice_keeps_the_first_word(plain: Todoke) -> None:
    acts = plain.schedules
    with plain.session() as session:
        assert acts.pause(session, "report", by="ken", reason="first")
        assert not acts.pause(session, "report", by="mika", reason="second")
        assert acts.list(session)[0].paused_by == "ken"
        assert acts.resume(session, "report", **KEN)
        assert not acts.resume(session, "report", **KEN)


async def test_async_handles_are_taken(plain: Todoke) -> None:
    async with plain.async_session() as session:
        told = await plain.schedules.run(session, "report", **KEN)
        assert [one.due for one in await plain.schedules.ticks(session, "report")] == [told.due]


# --- backfill --------------------------------------------------------------------------------


def test_a_backfill_enqueues_what_did_not_run(app: Todoke) -> None:
    """JB-2: missed ones, and those from before it was there; one after the other."""
    advance(app, "3h")
    app.drain()
    assert statuses(app, "report") == "MISSED MISSED RAN"
    span = (START - timedelta(hours=1), START + timedelta(hours=9))
    with app.session() as session:
        would = app.schedules.backfill(session, "report", *span, dry_run=True, **KEN)
    assert [(one.due.hour, one.was) for one in would] == [
        (23, None),
        (0, None),
        (1, "MISSED"),
        (2, "MISSED"),
    ]
    assert statuses(app, "report") == "MISSED MISSED RAN"
    with app.session() as session:
        done = app.schedules.backfill(session, "report", *span, **KEN)
    assert [one.status for one in done] == ["LATE", "WAITING", "WAITING", "WAITING"]
    assert done[0].job_id is not None
    app.drain()
    assert statuses(app, "report") == "LATE LATE LATE LATE RAN"
    assert ticks(app, "report")[0].reason == "backfill by ken: asked for"
    assert len(runs(app)) == 5
    with app.session() as session:
        assert not app.schedules.backfill(session, "report", *span, **KEN)


def test_a_backfill_of_what_is_still_to_come_is_left_to_the_scheduler(plain: Todoke) -> None:
    enqueue_due(plain)
    advance(plain, "2h")
    with plain.session() as session:
        assert not plain.schedules.backfill(
            session, "report", START + timedelta(hours=1), START + timedelta(hours=9), **KEN
        )
    enqueue_due(plain)
    assert fates(plain, "report") == [("01:00", "MISSED"), ("02:00", "RAN")]


def test_a_backfill_takes_ticks_out_of_a_row_that_stands_for_many(plain: Todoke) -> None:
    """JB-2: each of them is still accounted for once."""
    advance(plain, "300h")
    enqueue_due(plain)
    assert counted(plain, "report") == 300
    (stretch,) = [one for one in ticks(plain, "report") if one.count > 1]
    assert (stretch.due, stretch.count) == (START + timedelta(hours=1), 299)

    def backfill(first: int, last: int) -> int:
        with plain.session() as session:
            span = (START + timedelta(hours=first), START + timedelta(hours=last))
            done = plain.schedules.backfill(session, "report", *span, **KEN)
        assert {one.was for one in done} <= {"MISSED"}
        assert counted(plain, "report") == 300
        return len(done)

    assert backfill(1, 2) == 2
    assert backfill(10, 12) == 3
    assert backfill(2, 11) == 7
    first = ticks(plain, "report")[12]
    assert (first.due, first.count) == (START + timedelta(hours=13), 287)
    assert backfill(200, 299) == 100
    assert backfill(14, 100) == 87
    assert backfill(101, 199) == 99
    (last,) = [one for one in ticks(plain, "report") if one.status == "MISSED"]
    assert (last.due, last.last_due, last.count) == (START + timedelta(hours=13), None, 1)
    assert backfill(1, 300) == 1


def test_a_backfill_of_too_much_is_refused(plain: Todoke) -> None:
    advance(plain, "10h")
    enqueue_due(plain)
    span = (START + timedelta(hours=1), START + timedelta(hours=10))
    with plain.session() as session:
        for cap, said in ((3, "9 ticks of report"), (0, "1 to 10,000")):
            with pytest.raises(InvalidOption, match=said):
                plain.schedules.backfill(session, "report", *span, **KEN, cap=cap)
        with pytest.raises(InvalidOption, match="ends before it starts"):
            plain.schedules.backfill(session, "report", *span[::-1], **KEN)
        with pytest.raises(InvalidOption, match="without a zone"):
            naive = START.replace(tzinfo=None)
            plain.schedules.backfill(session, "report", naive, naive, **KEN)
