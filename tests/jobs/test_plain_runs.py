"""A success that has nothing to tell is told by its settled row; every other run has its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.jobs.board import count, run_rows, runs
from todoke import Run, Todoke, Unique, chain, crash
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.slots import InlineSlots


def rows_of_their_own(app: Todoke) -> int:
    return count(app, app.job_room.tables.runs)


def test_a_plain_success_is_one_row(app: Todoke, clock: Clock) -> None:
    """JB-5: and yet its run is seen, with job, attempt, environment, worker and times"""

    @app.job(name="greet")
    def greet(name: str) -> None: ...

    with app.session() as session:
        ref = greet.enqueue(session, "Mika")
    app.drain()
    assert rows_of_their_own(app) == 0
    with app.session() as session:
        (run,) = app.jobs.runs(session, job="greet")
        assert app.jobs.runs(session, id=ref.id) == [run]
        assert app.jobs.runs(session, job="other") == []
        record = app.jobs.get(session, ref)
    assert (run.job_id, run.job, run.attempt, run.status) == (ref.id, "greet", 1, "SUCCEEDED")
    assert (run.env, run.worker) == ("dev", app.job_room.worker_name)
    assert run.started_at == run.finished_at == clock.now()
    assert record.worker == app.job_room.worker_name
    (row,) = run_rows(app)
    assert (row.job_id, row.job, row.status, row.env) == (ref.id, "greet", "SUCCEEDED", "dev")
    assert (row.started_at, row.finished_at) == (run.started_at, run.finished_at)
    assert app.result(ref, timeout="1s") is None


def test_what_has_more_to_tell_has_a_row_of_its_own(app: Todoke) -> None:
    """JB-5: a result, a Run, a session, a tie, or somebody who wants the last so many"""

    @app.job(name="adds")
    def adds() -> int:
        return 3

    @app.job(name="tells")
    def tells(run: Run) -> None:
        run.log.info("here")

    @app.job(name="writes")
    def writes(session: Session) -> None: ...

    @app.job(name="kept", keep_successes=5)
    def kept() -> None: ...

    @app.job(name="plain")
    def plain() -> None: ...

    with app.session() as session:
        for job in (adds, tells, writes, kept):
            job.enqueue(session)
        plain.enqueue(session, unique=Unique("one"))
        plain.enqueue(session)
    app.drain()
    own = app.job_room.tables.runs
    with app.engine.connect() as connection:
        told = connection.execute(select(own.c.job).order_by(own.c.job)).scalars().all()
    assert told == ["adds", "kept", "plain", "tells", "writes"]
    assert len(runs(app)) == 6


def test_a_success_after_a_failure_is_seen_behind_it(app: Todoke, clock: Clock) -> None:
    """JB-5: the failed attempt has its row, the success does not need one"""

    @app.job(name="flaky", retry="job")
    def flaky() -> None:
        if not runs(app):
            raise OSError("not yet")

    with app.session() as session:
        ref = flaky.enqueue(session)
    app.drain()
    clock.advance("1h")
    app.drain()
    assert runs(app) == [("flaky", "FAILED", 1), ("flaky", "SUCCEEDED", 2)]
    assert rows_of_their_own(app) == 1
    with app.session() as session:
        newest = app.jobs.runs(session, id=ref.id)
        assert [one.attempt for one in newest] == [2, 1]
        assert [one.attempt for one in app.jobs.runs(session, limit=1)] == [2]


def test_a_run_that_had_to_wait_for_a_slot_tells_its_own_times(app: Todoke, clock: Clock) -> None:
    """JB-5: the claim says when it began only where it began at once"""

    @app.job(name="slow")
    def slow() -> None:
        clock.advance("3s")

    with app.session() as session:
        slow.enqueue_all(session, [None, None])
    app.drain()
    first, second = run_rows(app)
    assert rows_of_their_own(app) == 1
    assert (second.started_at - first.started_at).total_seconds() == 3
    assert (second.finished_at - second.started_at).total_seconds() == 3


def test_what_follows_a_job_whose_commit_got_no_reply_follows_once(
    app: Todoke, clock: Clock
) -> None:
    """JB-3: the settlement is written again, finds itself done, and leaves it at that"""
    seen: list[str] = []

    @app.job(name="first")
    def first() -> int:
        seen.append("first")
        return 1

    @app.job(name="second")
    def second() -> None:
        seen.append("second")

    with app.session() as session:
        app.enqueue(session, chain(first.bind(), second.bind()))
    runtime = Runtime(app)
    worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
    with app.engine.connect() as connection:
        runtime.membership.join(connection)
        with reply_lost(connection), pytest.raises(OperationalError):
            while True:
                worker.tick(connection)
    with app.engine.connect() as connection:
        for _ in range(4):
            clock.advance("1s")  # it polls
            worker.tick(connection)
    assert seen == ["first", "second"]
    with app.engine.connect() as connection:
        dead = select(func.count()).select_from(app.letter_table)
        assert connection.execute(dead).scalar_one() == 0
    assert [(job, status) for job, status, _ in runs(app)] == [
        ("first", "SUCCEEDED"),
        ("second", "SUCCEEDED"),
    ]


@contextmanager
def reply_lost(connection: Connection) -> Iterator[None]:
    """The server commits a settlement, and the line breaks before its answer arrives."""

    def break_the_line(point: str) -> None:
        if point == "settle.after_commit":
            connection.invalidate()
            broken = Exception("the line broke")
            raise OperationalError("COMMIT", None, broken, connection_invalidated=True)

    before = crash.arm(break_the_line)
    try:
        yield
    finally:
        crash.arm(before)
