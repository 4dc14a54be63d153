"""A worker behind a line that breaks loses nothing, and repeats no effect in a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import pytest
from sqlalchemy import create_engine, func, make_url, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from tests.application import application
from tests.waiting import until
from tests.work.running import quick_application, worker
from todoke import Event, Todoke
from todoke.testing import FaultyLine

COUNT, ROUNDS = 120, 6


class Paid(Event, ordered=False):
    number: int


@pytest.fixture(params=["postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_copy"))


@pytest.fixture
def line(url: str) -> Iterator[FaultyLine]:
    with FaultyLine.to(url) as line:
        yield line


@pytest.fixture
def app(url: str) -> Iterator[Todoke]:
    """What the test sees by, straight."""
    with application(url) as app:
        with app.engine.begin() as connection:
            connection.execute(text("CREATE TABLE paid (number INTEGER)"))
        with app.session() as session:
            app.publish_all(session, [Paid(number=number) for number in range(COUNT)])
        yield app


def paid(app: Todoke) -> list[int]:
    with app.engine.connect() as connection:
        return sorted(connection.scalars(text("SELECT number FROM paid")))


def settled(app: Todoke) -> int:
    history = app.outbox_table.history
    with app.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(history)) or 0


@contextmanager
def working(url: str, line: FaultyLine) -> Iterator[None]:
    with quick_application(line.url(url), **{"outbox.batch": 5, "lease.duration": "30s"}) as app:

        @app.on(Paid)
        def pay(event: Paid, session: Session) -> None:
            values = {"number": event.number}
            session.execute(text("INSERT INTO paid VALUES (:number)"), values)

        with worker(app):
            yield


def lose_a_commit(line: FaultyLine) -> None:
    before = line.lost
    line.lose_reply("COMMIT")
    until(lambda: line.lost > before, 60)


def cut_for_a_moment(line: FaultyLine) -> None:
    line.cut()
    line.heal()


def hang_for_a_moment(line: FaultyLine) -> None:
    line.hang()
    enough = monotonic() + 0.2
    until(lambda: monotonic() > enough)
    line.heal()


@pytest.mark.parametrize("fault", [lose_a_commit, cut_for_a_moment, hang_for_a_moment])
def test_a_worker_goes_on_after_its_line_broke(
    app: Todoke, url: str, line: FaultyLine, fault: Callable[[FaultyLine], None]
) -> None:
    """TS-2 OB-3 OB-7"""
    with working(url, line):
        for number in range(ROUNDS):
            until(lambda: settled(app) > number * 10, 60)  # noqa: B023
            fault(line)
        until(lambda: settled(app) == COUNT, 60)
    assert paid(app) == list(range(COUNT))
    with app.session() as session:
        assert app.dead_letters.count(session) == 0


def test_a_commit_whose_reply_was_lost_was_done(app: Todoke, url: str, line: FaultyLine) -> None:
    """TS-2"""
    engine = create_engine(make_url(line.url(url)))
    line.lose_reply("COMMIT")
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(text("INSERT INTO paid VALUES (1)"))
    assert (paid(app), line.lost) == ([1], 1)
    engine.dispose()


def test_what_was_not_committed_when_the_line_was_cut_is_rolled_back(
    app: Todoke, url: str, line: FaultyLine
) -> None:
    """TS-2"""
    engine = create_engine(make_url(line.url(url)))
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(text("INSERT INTO paid VALUES (1)"))
        line.cut()
    line.heal()
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM paid")) == 0
    engine.dispose()
