"""A job that says, while it runs, what follows it: enqueued with its result, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy.orm import Session

from tests.application import application
from tests.dying import drain_through
from tests.jobs.board import run_rows
from todoke import Job, Run, Todoke
from todoke.testing import Clock


class Desk:
    """Work in pieces, without a session of its own, and what it is followed by."""

    def __init__(self, app: Todoke) -> None:
        self.app = app
        self.failing = False
        self.told: list[str] = []

        @app.job()
        def tell(text: str) -> None:
            self.told.append(text)

        @app.job()
        def large(run: Run) -> None:
            for _ in run.chunks(self._pieces, cursor=lambda number: number, size=2):
                pass
            run.then(tell.bind("done"))
            if self.failing:
                self.failing = False
                raise ValueError

        @app.job()
        async def soon(run: Run) -> None:
            run.then(tell.bind("later", delay="1h"))
            run.then(tell.bind("now"))

        @app.job()
        def mistaken(run: Run) -> None:
            run.then(tell.bind(7))  # type: ignore[arg-type]

        @app.job()
        def with_session(run: Run, session: Session) -> None:
            run.then(tell.bind("never"))

        self.large: Job[None, None] = large
        self.soon: Job[None, None] = soon
        self.mistaken: Job[None, None] = mistaken
        self.with_session: Job[None, None] = with_session

    @staticmethod
    def _pieces(session: Session, after: int | None, size: int) -> Sequence[int]:
        return list(range((after or 0) + 1, 5))[:size]

    def enqueue(self, job: Job[None, None]) -> None:
        with self.app.session() as session:
            job.enqueue(session)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(migrated_url: str, clock: Clock) -> Iterator[Desk]:
    with application(migrated_url, clock=clock) as app:
        yield Desk(app)


def test_what_a_run_names_follows_its_success(desk: Desk) -> None:
    """JB-3"""
    desk.enqueue(desk.large)
    desk.app.drain()
    assert desk.told == ["done"]


def test_several_may_follow_each_in_its_time(desk: Desk, clock: Clock) -> None:
    """JB-3"""
    desk.enqueue(desk.soon)
    desk.app.drain()
    assert desk.told == ["now"]
    clock.advance("1h")
    desk.app.drain()
    assert desk.told == ["now", "later"]


def test_nothing_follows_a_failure_and_one_thing_the_success_after_it(
    desk: Desk, clock: Clock
) -> None:
    """JB-3"""
    desk.failing = True
    desk.enqueue(desk.large)
    desk.app.drain()
    assert desk.told == []
    clock.advance("5s")
    desk.app.drain()
    assert desk.told == ["done"]


@pytest.mark.parametrize(
    "point",
    ["handler.after_call", "job.before_follower", "settle.before_commit", "settle.after_commit"],
)
def test_one_thing_follows_wherever_the_worker_died(desk: Desk, point: str) -> None:
    """JB-3, TS-2"""
    desk.enqueue(desk.large)
    drain_through(desk.app, point)
    assert desk.told == ["done"]


def test_a_follower_that_could_not_run_fails_the_run_that_names_it(desk: Desk) -> None:
    """JB-3"""
    desk.enqueue(desk.mistaken)
    desk.app.drain()
    (run,) = run_rows(desk.app)
    assert (run.status, desk.told) == ("FAILED", [])
    assert "tell.enqueue" in run.error_message


def test_a_job_with_a_session_is_told_to_enqueue_there(desk: Desk) -> None:
    """JB-3: one way to do it, and the same commit."""
    desk.enqueue(desk.with_session)
    desk.app.drain()
    (run,) = run_rows(desk.app)
    assert "enqueue in the job's session" in run.error_message
