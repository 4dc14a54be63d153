"""With a session, a handler's effects and its settlement are one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped, letters, publish, statuses
from todoke import Done, Reject, Retry, Skip, Snooze, Todoke
from todoke.testing import Clock

INSERT = text("INSERT INTO sales VALUES (:n)")
Body = Callable[[Session], Any]


@pytest.fixture(autouse=True)
def sales(app: Todoke) -> None:
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE sales (n INTEGER)"))


@pytest.fixture(params=["def", "async def"])
def handle(request: pytest.FixtureRequest, app: Todoke) -> Callable[[Body], None]:
    """Registers a body as a handler with a session, of both kinds."""

    def register(body: Body) -> None:
        def plain(event: Placed, session: Session) -> Any:
            return body(session)

        async def awaited(event: Placed, session: AsyncSession) -> Any:
            return await session.run_sync(body)

        app.on(Placed, name="sell")(plain if request.param == "def" else awaited)

    return register


def sell(session: Session) -> None:
    session.execute(INSERT, {"n": 1})


def sold(app: Todoke) -> int:
    with app.engine.connect() as connection:
        return int(connection.execute(text("SELECT count(*) FROM sales")).scalar_one())


def drain(app: Todoke) -> None:
    publish(app, Placed(order_id=1))
    app.drain()


def test_the_effect_and_the_settlement_are_kept_together(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1 OB-3"""
    handle(sell)
    drain(app)
    assert (sold(app), statuses(app)) == (1, [("PROCESSED", 1)])


def test_a_failure_rolls_the_effect_back(app: Todoke, handle: Callable[[Body], None]) -> None:
    """OB-1 ER-1"""

    def fail(session: Session) -> None:
        sell(session)
        raise OSError("no luck")

    handle(fail)
    drain(app)
    assert (sold(app), statuses(app)) == (0, [("PENDING", 1)])


@pytest.mark.parametrize("answer", [Retry("1s"), Snooze("1s"), Reject("no"), Skip("no")])
def test_only_done_commits(app: Todoke, handle: Callable[[Body], None], answer: Any) -> None:
    """design 8"""

    def refuse(session: Session) -> Any:
        sell(session)
        return answer

    handle(refuse)
    drain(app)
    assert sold(app) == 0


def test_a_commit_of_its_own_commits_nothing_early(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1: the worker's transaction decides"""

    def commit(session: Session) -> None:
        sell(session)
        session.commit()
        raise OSError("after the commit")

    handle(commit)
    drain(app)
    assert sold(app) == 0


def test_a_rollback_of_its_own_and_done_is_a_mistake_that_is_told(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1"""

    def undo(session: Session) -> Done:
        sell(session)
        session.rollback()
        return Done()

    handle(undo)
    drain(app)
    assert (sold(app), [one.code for one in letters(app)]) == (0, ["SESSION_ROLLED_BACK"])


def test_a_savepoint_of_its_own_may_be_rolled_back(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1"""

    def try_twice(session: Session) -> None:
        inner = session.begin_nested()
        sell(session)
        inner.rollback()
        sell(session)

    handle(try_twice)
    drain(app)
    assert (sold(app), statuses(app)) == (1, [("PROCESSED", 1)])


def test_events_published_through_the_session_come_before_those_it_answers(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1 OB-2"""
    seen: list[int] = []

    def both(session: Session) -> Shipped:
        app.publish(session, Shipped(order_id=1))
        return Shipped(order_id=2)

    @app.on(Shipped)
    def note(event: Shipped) -> None:
        seen.append(event.order_id)

    handle(both)
    drain(app)
    assert seen == [1, 2]


def test_a_rolled_back_attempt_publishes_nothing(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """OB-1"""

    def fail(session: Session) -> None:
        app.publish(session, Shipped())
        raise OSError

    handle(fail)
    drain(app)
    assert statuses(app) == [("PENDING", 1)]


def test_a_mistake_in_its_sql_costs_one_attempt_and_is_run_once(
    app: Todoke, handle: Callable[[Body], None]
) -> None:
    """ER-1: only what passes by itself is run again for nothing"""
    runs: list[int] = []

    def mistake(session: Session) -> None:
        runs.append(1)
        session.execute(text("INSERT INTO nowhere VALUES (1)"))

    handle(mistake)
    drain(app)
    assert (len(runs), statuses(app)) == (1, [("PENDING", 1)])


def test_a_row_that_cannot_be_written_at_the_end_fails_the_attempt(
    app: Todoke, handle: Callable[[Body], None], clock: Clock
) -> None:
    """OB-1 ER-1"""
    with app.engine.begin() as connection:
        connection.execute(text("CREATE UNIQUE INDEX once ON sales (n)"))
    handle(sell)
    drain(app)
    drain(app)
    assert (sold(app), sorted(statuses(app))) == (1, [("PENDING", 1), ("PROCESSED", 1)])
    with app.session() as session:
        (waiting,) = app.events.list(session, status="PENDING")
    assert waiting.error_code == "INTEGRITY_ERROR"
