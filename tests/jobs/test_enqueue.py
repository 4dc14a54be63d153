"""A job is enqueued with its caller's commit, typed, on every kind of handle."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from tests.application import application, rows
from tests.jobs.board import count, runs, waiting
from todoke import Context, Job, Todoke, Unique
from todoke.errors import ContextNotIncluded, InvalidArgument, InvalidOption, JobExists
from todoke.testing import Clock


class Export(BaseModel):
    day: str
    carrier: str = "yamato"


def numbered(app: Todoke) -> tuple[Job[int, None], list[int]]:
    seen: list[int] = []

    @app.job()
    def number(argument: int) -> None:
        seen.append(argument)

    return number, seen


def test_it_runs_if_and_only_if_the_caller_commits(migrated_url: str) -> None:
    """JB-1: one by one and many at once, on a Session and on a Connection"""
    with application(migrated_url) as app:
        done = []

        @app.job()
        def export(argument: Export) -> str:
            done.append(argument.day)
            return argument.day

        with pytest.raises(ZeroDivisionError), app.session() as session:
            export.enqueue(session, Export(day="never"))
            raise ZeroDivisionError
        with app.session() as session:
            export.enqueue(session, Export(day="monday"))
        with app.engine.begin() as connection:
            export.enqueue_all(connection, [Export(day=str(n)) for n in range(40)])
        app.drain()
        assert done == ["monday", *map(str, range(40))]
        assert runs(app) == [("export", "SUCCEEDED", 1)] * 41
        assert waiting(app) == 0


def test_async_handles(migrated_url: str) -> None:
    """JB-1: nothing is awaited on an AsyncSession, a connection's enqueueing is"""
    with application(migrated_url) as app:
        number, seen = numbered(app)

        async def enqueue() -> None:
            async with app.async_session() as session:
                number.enqueue(session, 1)
            async with app.async_engine.begin() as connection:
                ref = await number.enqueue(connection, 2)
                assert ref.job == "number"
                await number.enqueue_all(connection, [3, 4])

        asyncio.run(enqueue())
        app.drain()
        assert seen == [1, 2, 3, 4]


def test_a_savepoint_that_is_rolled_back_takes_its_jobs_along(migrated_url: str) -> None:
    """JB-1"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        with app.session() as session:
            number.enqueue(session, 1)
            with pytest.raises(ZeroDivisionError), session.begin_nested():
                number.enqueue(session, 2)
                raise ZeroDivisionError
        app.drain()
        assert seen == [1]


def test_a_wrong_argument_is_refused_and_nothing_is_enqueued(sqlite_copy: str) -> None:
    """JB-1: bad input gets a clear refusal and loses nothing"""
    with application(sqlite_copy) as app:
        number, _ = numbered(app)

        @app.job()
        def bare() -> None: ...

        wrong: Any = "seven"
        with app.engine.begin() as connection:
            for enqueue in (
                lambda: number.enqueue(connection, wrong),
                lambda: number.enqueue_all(connection, [1, wrong]),
                lambda: number.enqueue(connection),  # type: ignore[call-overload]
                lambda: bare.enqueue(connection, 1),  # type: ignore[call-overload]
            ):
                with pytest.raises(InvalidArgument, match="Nothing was enqueued"):
                    enqueue()
            with pytest.raises(InvalidOption, match="-100 to 100"):
                number.enqueue(connection, 1, priority=101)
            with pytest.raises(InvalidOption, match="unit"):
                number.enqueue(connection, 1, delay=5)  # type: ignore[call-overload]
            with pytest.raises(InvalidOption, match="zone"):
                number.enqueue(connection, 1, delay=datetime(2030, 1, 1))  # noqa: DTZ001
            with pytest.raises(InvalidArgument, match="bytes"):
                text_job(app).enqueue(connection, "x" * 2_000_000)
        assert waiting(app) == 0


def text_job(app: Todoke) -> Job[str, None]:
    @app.job(name="text")
    def text(argument: str) -> None: ...

    return text


def test_a_context_that_is_not_included_cannot_enqueue(sqlite_copy: str) -> None:
    """JB-1"""
    stray = Context("stray")

    @stray.job()
    def job() -> None: ...

    with (
        application(sqlite_copy) as app,
        app.session() as session,
        pytest.raises(ContextNotIncluded, match="stray"),
    ):
        job.enqueue(session)


def test_delays(migrated_url: str) -> None:
    """JB-9: a length of time, or a moment"""
    with application(migrated_url) as app:
        assert isinstance(app.clock, Clock)
        number, seen = numbered(app)
        with app.session() as session:
            number.enqueue(session, 2, delay="10m")
            number.enqueue(session, 3, delay=app.clock.now() + timedelta(hours=1))
            number.enqueue(session, 1, delay=datetime(2000, 1, 1, tzinfo=UTC))
        for expected in ([1], [1, 2], [1, 2, 3]):
            app.drain()
            assert seen == expected
            app.clock.advance("40m")


def test_higher_priorities_go_first(migrated_url: str) -> None:
    """JB-9"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        with app.session() as session:
            for priority in (0, -5, 100, 5):
                number.enqueue(session, priority, priority=priority)
        app.drain()
        assert seen == [100, 5, 0, -5]


@pytest.mark.parametrize("repeat", ["return", "skip"])
def test_a_repeat_is_given_the_first(migrated_url: str, repeat: Any) -> None:
    """JB-9: while the first lives; then the key is free"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        for expected in ([1], [1, 1]):
            with app.engine.begin() as connection:
                first = number.enqueue(connection, 1, unique=Unique("key", repeat=repeat))
                again = number.enqueue(connection, 2, unique=Unique("key", repeat=repeat))
            assert not first.existed
            assert again.existed
            assert again.id == first.id
            app.drain()
            assert seen == expected
        assert count(app, app.job_room.tables.unique_keys) == 0


def test_a_repeat_may_be_refused(migrated_url: str) -> None:
    """JB-9: on a connection at once, on a Session by its commit"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        refused = Unique("key", repeat="raise")
        with app.session() as session:
            number.enqueue(session, 1, unique=refused)
        with app.engine.begin() as connection, pytest.raises(JobExists, match="'key' is taken"):
            number.enqueue(connection, 2, unique=refused)
        with pytest.raises(JobExists), app.session() as session:
            number.enqueue(session, 3, unique=refused)
        app.drain()
        assert seen == [1]


def test_a_repeat_may_replace_one_that_waits(migrated_url: str) -> None:
    """JB-9: argument, time and priority are the newer one's; one that has ended is left alone"""
    with application(migrated_url) as app:
        assert isinstance(app.clock, Clock)
        number, seen = numbered(app)
        newer = Unique("key", repeat="replace")
        with app.engine.begin() as connection:
            number.enqueue(connection, 1, unique=newer)
            number.enqueue(connection, 2, unique=newer, delay="1h")
        app.drain()
        assert seen == []
        app.clock.advance("1h")
        app.drain()
        assert seen == [2]
        with app.engine.begin() as connection:
            assert not number.enqueue(connection, 3, unique=newer).existed
        app.drain()
        assert seen == [2, 3]


def test_a_key_may_be_taken_for_a_time(migrated_url: str) -> None:
    """JB-9: from its enqueueing on, also when the first has ended"""
    with application(migrated_url) as app:
        assert isinstance(app.clock, Clock)
        number, seen = numbered(app)
        daily = Unique("key", within="1d")
        for advance, expected in (("0s", [1]), ("23h", [1]), ("2h", [1, 1])):
            app.clock.advance(advance)
            with app.session() as session:
                number.enqueue(session, 1, unique=daily)
            app.drain()
            assert seen == expected


def test_a_key_is_free_when_its_job_was_given_up(migrated_url: str) -> None:
    """JB-9"""
    with application(migrated_url, settings={"retry.job": {"delays": []}}) as app:

        @app.job()
        def fails() -> None:
            raise ValueError

        with app.session() as session:
            fails.enqueue(session, unique="key")
        app.drain()
        with app.engine.begin() as connection:
            assert not fails.enqueue(connection, unique="key").existed


@pytest.mark.parametrize("taken", [False, True])
def test_a_redriven_job_takes_its_key_back_unless_another_has_it(
    migrated_url: str, taken: bool
) -> None:
    """JB-9 ER-4"""
    with application(migrated_url, settings={"retry.job": {"delays": []}}) as app:

        @app.job()
        def fails() -> None:
            raise ValueError

        with app.session() as session:
            first = fails.enqueue(session, unique="key")
        app.drain()
        with app.engine.begin() as connection:
            second = fails.enqueue(connection, unique="key") if taken else first
            everything = app.dead_letters.where()
            app.dead_letters.redrive(connection, everything, by="mika", reason="mended")
            again = fails.enqueue(connection, unique="key")
            assert (again.existed, again.id) == (True, second.id)
        assert waiting(app) == 1 + taken
        app.drain()
        with app.engine.begin() as connection:
            assert not fails.enqueue(connection, unique="key").existed


def test_of_two_callers_at_once_one_is_first(migrated_url: str) -> None:
    """JB-9: the second waits for the first one's commit"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        barrier = threading.Barrier(8)

        def call(argument: int) -> None:
            barrier.wait(30)
            with app.engine.begin() as connection:
                number.enqueue(connection, argument, unique="key")

        threads = [threading.Thread(target=call, args=[n]) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        app.drain()
        assert len(seen) == 1


def test_the_same_key_of_another_context_is_another_key(sqlite_copy: str) -> None:
    """JB-9"""
    other = Context("other")

    @other.job(name="elsewhere")
    def elsewhere() -> None: ...

    with application(sqlite_copy) as app:
        app.include(other)
        number, _ = numbered(app)
        with app.engine.begin() as connection:
            number.enqueue(connection, 1, unique="key")
            assert not elsewhere.enqueue(connection, unique="key").existed


def test_a_job_enqueues_the_next_in_its_own_transaction(migrated_url: str) -> None:
    """JB-3: a result that is rolled back leaves no next link"""
    with application(migrated_url) as app:
        number, seen = numbered(app)
        tries: list[int] = []

        @app.job()
        def first(session: Session) -> None:
            number.enqueue(session, len(tries))
            tries.append(1)
            if len(tries) == 1:
                raise ValueError

        with app.session() as session:
            first.enqueue(session)
        app.drain()
        assert isinstance(app.clock, Clock)
        app.clock.advance("5s")
        app.drain()
        assert seen == [1]
        assert [row.handler for row in rows(app, app.jobs_table.history)] == ["first", "number"]
        statement = select(app.jobs_table.history.c.attempt)
        with app.engine.connect() as connection:
            assert sorted(connection.execute(statement).scalars()) == [1, 2]
