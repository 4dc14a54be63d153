"""Jobs in a worker process: cancelled while they run, in child processes, seen while they go on."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, update

from tests.application import application
from tests.jobs.board import run_rows, runs, waiting
from tests.jobs.desk import forgetting
from tests.jobs.processor_jobs import dies, squares
from tests.waiting import until
from todoke import Context, Limit, Run, Skip, Snooze, Todoke
from todoke.clock import SystemClock
from todoke.errors import Cancelled, InvalidOption, JobFailed
from todoke.runtime import Runtime
from todoke.testing import Clock

QUICK: dict[str, object] = {"outbox.poll": "50ms", "retry.job": {"delays": []}}


@contextmanager
def working(app: Todoke) -> Iterator[None]:
    process = Runtime(app).start()
    try:
        yield
    finally:
        process.stop(10)


@pytest.mark.parametrize("is_async", [True, False])
def test_a_job_is_cancelled_while_it_runs(migrated_url: str, is_async: bool) -> None:
    """JB-9: `async def` at its next await, `def` at its next check; it is not tried again"""
    begun, ended = threading.Event(), []
    with application(migrated_url, clock=SystemClock(), settings=QUICK) as app:

        @app.job(name="waits")
        async def waits(run: Run) -> None:
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("interrupted")
                raise

        @app.job(name="checks")
        def checks(run: Run) -> None:
            begun.set()
            try:
                while True:
                    run.check()
                    threading.Event().wait(0.01)
            except Cancelled:
                ended.append("interrupted")
                raise

        job = waits if is_async else checks
        with app.session() as session:
            ref = job.enqueue(session)
        with working(app):
            assert begun.wait(20)
            with app.session() as session:
                app.jobs.cancel(session, ref, by="ken", reason="wrong file")
            until(lambda: waiting(app) == 0, 20)
        assert ended == ["interrupted"]
        assert [status for _, status, _ in runs(app)] == ["SKIPPED"]
        with pytest.raises(JobFailed, match="cancelled by ken"):
            app.result(ref, timeout="1s")


def test_progress_is_seen_while_it_goes_on(migrated_url: str) -> None:
    """JB-5: its row says RUNNING, with what it has told so far"""
    go_on = threading.Event()
    with application(migrated_url, clock=SystemClock(), settings=QUICK) as app:

        @app.job()
        def long(run: Run) -> int:
            run.progress(3, 10)
            run.metric("bytes", 7)
            run.log.info("half way")
            go_on.wait(30)
            return 7

        with app.session() as session:
            ref = long.enqueue(session)
        with working(app):
            until(lambda: [one.status for one in run_rows(app)] == ["RUNNING"], 20)
            row = run_rows(app)[0]
            assert (row.processed, row.total, row.metrics) == (3, 10, '{"bytes":7}')
            assert row.log == "INFO half way"
            assert row.worker_name.endswith(str(os.getpid()))
            go_on.set()
            assert app.result(ref, timeout="20s") == 7
        (row,) = run_rows(app)
        assert (row.status, row.result, row.env, row.attempt) == ("SUCCEEDED", "7", "dev", 1)
        assert row.finished_at > row.started_at


def test_a_run_that_is_lost_with_its_worker_has_failed(migrated_url: str) -> None:
    """JB-5: nothing stays RUNNING for ever"""
    with application(migrated_url) as app:
        table = app.job_room.tables.runs

        @app.job(keep_successes=1)
        def job() -> None: ...

        with app.session() as session:
            job.enqueue(session)
        app.drain()
        worker = run_rows(app)[0].worker
        with app.engine.begin() as connection:
            connection.execute(update(table).values(status="RUNNING"))
            app.job_room.freed(connection, worker)
        assert [(row.status, row.error_code) for row in run_rows(app)] == [
            ("FAILED", "WORKER_LOST")
        ]


def test_work_for_a_processor_runs_in_a_child(sqlite_copy: str) -> None:
    """JB-9: with progress and a typed result; a child that dies costs its attempt only"""
    with application(sqlite_copy, clock=SystemClock(), settings=QUICK) as app:
        square = app.job(executor="process")(squares)
        die = app.job(executor="process")(dies)
        with app.session() as session:
            ref = square.enqueue(session, 4)
            die.enqueue(session)
        with working(app):
            assert app.result(ref, timeout="60s") == 14
            until(lambda: waiting(app) == 0, 60)
        statuses = {row.job: row for row in run_rows(app)}
        assert statuses["squares"].processed == 4
        assert statuses["dies"].error_code == "PROCESS_DIED"


def test_what_cannot_run_in_a_child_is_refused(sqlite_copy: str) -> None:
    """JB-9"""
    with application(sqlite_copy) as app:

        @app.job(executor="process")
        def inner() -> None: ...

        with pytest.raises(InvalidOption, match="inner"):
            _ = app.handlers


def test_a_job_that_is_switched_off_is_recorded_as_skipped(migrated_url: str) -> None:
    """JB-4: and returned at once"""
    settings: dict[str, object] = {"jobs.enabled.export": False}
    with application(migrated_url, settings=settings) as app:

        @app.job()
        def export() -> None:
            raise AssertionError

        with app.session() as session:
            export.enqueue(session)
        app.drain()
        (row,) = run_rows(app)
        assert (row.status, row.note) == ("SKIPPED", "jobs.enabled.export is off")
        assert waiting(app) == 0


def test_outcomes(migrated_url: str) -> None:
    """JB-9: Skip is recorded with its reason, Snooze costs no attempt"""
    with application(migrated_url) as app:
        assert isinstance(app.clock, Clock)
        slept = []

        @app.job()
        def skips() -> Skip:
            return Skip("nothing to do")

        @app.job()
        async def sleeps() -> Snooze | int:
            slept.append(1)
            return Snooze("1h") if len(slept) < 3 else 5

        with app.session() as session:
            skips.enqueue(session)
            ref = sleeps.enqueue(session)
        for _ in range(3):
            app.drain()
            app.clock.advance("1h")
        assert app.result(ref, timeout="1s") == 5
        found = {row.job: (row.status, row.attempt, row.note) for row in run_rows(app)}
        assert found == {
            "skips": ("SKIPPED", 1, "nothing to do"),
            "sleeps": ("SUCCEEDED", 1, None),
        }


def test_what_nobody_knows_is_put_off_and_never_given_up(migrated_url: str) -> None:
    """Unknown and renamed jobs: a release that knows them may come at any time"""
    done: list[int] = []
    with application(migrated_url) as old:

        @old.job(name="old-name")
        def before(number: int) -> None: ...

        with old.session() as session:
            before.enqueue(session, 7)
    clock = Clock()
    with application(migrated_url, clock=clock) as unknowing:
        for _ in range(30):
            unknowing.drain()
            clock.advance("1h")
        assert waiting(unknowing) == 1
    with application(migrated_url, clock=clock) as new:

        @new.job(name="new-name", aliases=["old-name"])
        def after(number: int) -> None:
            done.append(number)

        clock.advance("1h")
        new.drain()
        assert done == [7]


def test_an_argument_that_no_longer_fits_waits_and_then_is_a_dead_letter(
    migrated_url: str,
) -> None:
    """Changed types: put off for the grace time, never dropped; redriven with a corrected one"""
    done: list[int] = []
    with application(migrated_url) as old:

        @old.job(name="changed")
        def before(number: str) -> None: ...

        with old.session() as session:
            before.enqueue(session, "seven")
    clock = Clock()
    with application(migrated_url, clock=clock) as new:

        @new.job(name="changed")
        def after(number: int) -> None:
            done.append(number)

        new.drain()
        assert waiting(new) == 1
        for _ in range(20):
            clock.advance("5s")
            new.drain()
        with new.session() as session:
            (letter,) = new.dead_letters.list(session).items
            assert (letter.source, letter.code) == ("job", "INVALID_PAYLOAD")
            chosen = new.dead_letters.where(ids=[letter.id])
            new.dead_letters.redrive(session, chosen, by="ken", reason="typo", payload=7)
        new.drain()
        assert done == [7]


def test_a_redriven_job_is_counted_under_its_key_again(sqlite_copy: str) -> None:
    """JB-9"""
    with application(sqlite_copy, settings={"retry.job": {"delays": []}}) as app:

        @app.job(limit=Limit(1, per=str))
        def fails(tenant: str) -> None:
            raise ValueError

        with app.session() as session:
            fails.enqueue(session, "a")
        table = app.jobs_table.live
        with app.engine.connect() as connection:
            before = connection.execute(select(table.c.strand)).scalar_one()
        app.drain()
        with app.session() as session:
            every = app.dead_letters.where()
            app.dead_letters.redrive(session, every, by="ken", reason="again")
        with app.engine.connect() as connection:
            assert connection.execute(select(table.c.strand)).scalar_one() == before != 0


def test_a_web_process_enqueues_and_never_runs(sqlite_copy: str, tmp_path: Path) -> None:
    """JB-6: the same package and jobs, with another role"""
    shipping = Context("shipping")

    @shipping.job(queue="files")
    def export() -> None:
        (tmp_path / "exported").touch()

    async def serve(app: Todoke) -> None:
        async with app.lifespan():
            with app.session() as session:
                export.enqueue(session)

    with application(sqlite_copy, clock=SystemClock()) as web:
        web.include(shipping)
        asyncio.run(serve(web))
        assert waiting(web) == 1
    with application(sqlite_copy, settings={"worker.queues": {"default": 1}}) as other:
        other.include(shipping)
        other.drain()  # serves another queue
        assert waiting(other) == 1
    with application(sqlite_copy, settings={"worker.queues": {"files": 1}}) as worker:
        worker.include(shipping)
        worker.drain()
        assert waiting(worker) == 0
    assert (tmp_path / "exported").exists()


def test_only_the_last_successes_and_all_failures_are_kept(migrated_url: str) -> None:
    """JB-5: retention per job; minute jobs flood no history"""
    with application(migrated_url, settings={"retry.job": {"delays": []}}) as app:

        @app.job(keep_successes=3)
        def often(number: int) -> None:
            if number % 5 == 0:
                raise ValueError

        for start in (0, 10):
            with app.session() as session:
                often.enqueue_all(session, range(start, start + 10))
            app.drain()
            with app.engine.connect() as connection:
                forgetting(app).tick(connection)
        statuses = [row.status for row in run_rows(app)]
        assert statuses.count("SUCCEEDED") == 3
        assert statuses.count("FAILED") == 4
