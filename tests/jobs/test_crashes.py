"""A process that dies at each point that jobs pass: nothing is lost, no session effect is twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session

from tests.application import application
from tests.dying import death_at, drain_through
from tests.jobs.board import count, run_rows, runs, waiting
from tests.jobs.points import OF_JOBS
from todoke import Run, Todoke, batch, chain, crash
from todoke.testing import Clock

DONE = 9


@contextmanager
def desk(url: str) -> Iterator[Todoke]:
    """An application with a session job, a chain's link, and one that works in chunks."""
    with application(url) as app:
        with app.engine.begin() as connection:
            connection.execute(text("CREATE TABLE effects (what VARCHAR(50))"))
        yield app


def note(session: Session, what: str) -> None:
    session.execute(text("INSERT INTO effects VALUES (:what)"), {"what": what})


def effects(app: Todoke) -> list[str]:
    with app.engine.connect() as connection:
        return sorted(connection.execute(text("SELECT what FROM effects")).scalars())


SETTLING = (
    "claim.before_commit",
    "claim.after_commit",
    "handler.after_guard",
    "handler.after_call",
    "handler.before_commit",
    "handler.after_commit",
    "job.before_follower",
)


@pytest.mark.parametrize("point", SETTLING)
def test_a_link_of_a_chain_takes_effect_once_and_the_next_follows_once(
    migrated_url: str, point: str
) -> None:
    """JB-3, JB-1: result, effect and next link are one commit"""
    with desk(migrated_url) as app:

        @app.job()
        def link(number: int, session: Session) -> None:
            note(session, f"link {number}")

        with app.session() as session:
            app.enqueue(session, chain(link.bind(1), link.bind(2)))
        drain_through(app, point)
        assert effects(app) == ["link 1", "link 2"]
        assert waiting(app) == 0
        assert [status for _, status, _ in runs(app)].count("SUCCEEDED") == 2


@pytest.mark.parametrize("point", ["settle.before_commit", "settle.after_commit"])
def test_a_batch_is_followed_once(migrated_url: str, point: str) -> None:
    """JB-9: whoever brings it to nothing"""
    with desk(migrated_url) as app:
        seen: list[str] = []

        @app.job()
        def member(number: int) -> None: ...

        @app.job()
        def after(text: str) -> None:
            seen.append(text)

        with app.session() as session:
            members = [member.bind(number) for number in range(5)]
            app.enqueue(session, batch(members, then=after.bind("all"), failed=after.bind("some")))
        drain_through(app, point)
        assert set(seen) == {"all"}
        assert waiting(app) == 0
        table = app.job_room.tables.batches
        with app.engine.connect() as connection:
            row = connection.execute(select(table)).one()
        assert (row.total, row.pending, row.failed) == (5, 0, 0)
        assert row.ended_at is not None


@pytest.mark.parametrize("point", ["chunk.before_commit", "chunk.after_commit"])
def test_chunks_go_on_behind_the_last_one_that_was_committed(migrated_url: str, point: str) -> None:
    """JB-10: each in its own transaction, resumable"""
    with desk(migrated_url) as app:

        def fetch(session: Session, after: int | None, size: int) -> Sequence[int]:
            return list(range(after or 0, DONE))[:size]

        def left(session: Session, after: int | None) -> int:
            return DONE - (after or 0)

        @app.job()
        def large(run: Run) -> None:
            for session, numbers in run.chunks(fetch, cursor=lambda n: n + 1, size=2, left=left):
                for number in numbers:
                    note(session, str(number))

        with app.session() as session:
            large.enqueue(session)
        drain_through(app, point)
        assert effects(app) == [str(number) for number in range(DONE)]
        last = run_rows(app)[-1]
        assert (last.processed, last.total) == (DONE, DONE)
        assert count(app, app.job_room.tables.cursors) == 0


@pytest.mark.parametrize(
    "point", ["enqueue.before_insert", "enqueue.after_insert", "unique.before_insert"]
)
def test_dying_while_enqueueing_leaves_nothing_behind(migrated_url: str, point: str) -> None:
    """JB-1, JB-9: neither the job nor its key"""
    with desk(migrated_url) as app:

        @app.job()
        def job() -> None: ...

        with death_at(point), app.engine.connect() as connection, connection.begin():
            job.enqueue(connection, unique="key")
        assert waiting(app) == 0
        with app.engine.begin() as connection:
            assert not job.enqueue(connection, unique="key").existed


def test_an_exception_rolls_the_open_chunk_back_and_a_break_commits_it(migrated_url: str) -> None:
    """JB-10"""
    with desk(migrated_url) as app:
        assert isinstance(app.clock, Clock)
        failing = [True]

        def fetch(session: Session, after: int | None, size: int) -> Sequence[int]:
            return list(range(after or 0, DONE))[:size]

        @app.job()
        def large(run: Run) -> None:
            for session, numbers in run.chunks(fetch, cursor=lambda n: n + 1, size=3):
                note(session, str(numbers[0]))
                if numbers[0] == 3 and failing:
                    failing.clear()
                    raise ValueError
                if numbers[0] == 3:
                    break

        with app.session() as session:
            large.enqueue(session)
        app.drain()
        assert effects(app) == ["0"]
        app.clock.advance("5s")
        app.drain()
        assert effects(app) == ["0", "3"]
        assert runs(app) == [("large", "FAILED", 1), ("large", "SUCCEEDED", 2)]


def test_every_point_of_jobs_has_a_test_that_dies_there() -> None:
    """Those of agents and of schedules are died at in their own tests."""
    here = {"enqueue.before_insert", "enqueue.after_insert", "unique.before_insert"}
    here |= {"job.before_follower", "chunk.before_commit", "chunk.after_commit"}
    of_agents = {"report.before_commit", "forget.before_commit"}
    of_jobs = {name for name in crash.POINTS if name.startswith(OF_JOBS)}
    ticks: set[Any] = {name for name in of_jobs if name.startswith(("tick.", "keys."))}
    assert of_jobs == here | of_agents | ticks
