"""What every database promises: about time, values, comparisons, and what it says of faults.

class TestOurs(DatabaseSuite):
    @pytest.fixture
    def address(self) -> str:
        return "sqlite:////tmp/fresh.db"  # of an empty database, a new one for each test
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from time import monotonic
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import URL, Connection, MetaData, bindparam, make_url, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from todoke.clock import SystemClock
from todoke.database import Database
from todoke.databases import open_database
from todoke.databases.upgrade import migrate
from todoke.dead_letters.table import dead_letter_tables
from todoke.testing.conformance.opened import Opened, change, changed, things

TOKYO = timezone(timedelta(hours=9))
NOTED = datetime(2026, 3, 1, 8, 30, 0, 123456, TOKYO)
PATIENCE = 1.0


class DatabaseSuite:
    """For a kind of database: subclass it and give it an `address`."""

    @pytest.fixture
    def address(self) -> str:
        """The address of a fresh, empty database."""
        raise NotImplementedError("give the suite a fixture `address`")

    def open(self, url: URL) -> Database:
        """The kind that is tested; override it for one that todoke does not know."""
        return open_database(url, SystemClock(), schema="todoke", prefix="todoke_")

    def hurry(self, connection: Connection) -> None:
        """Do not wait for a lock for long, where `patience` does not say so already."""

    @pytest.fixture
    def there(self, address: str) -> Iterator[Opened]:
        url = make_url(address)
        database = self.open(url)
        engine = database.engine(url, pool_size=5, patience=PATIENCE)
        yield Opened(database, url, engine)
        engine.dispose()

    # --- time --------------------------------------------------------------------------------

    def test_its_time_is_utc_moves_on_and_tells_fractions_of_seconds(self, there: Opened) -> None:
        """OB-4"""

        def now() -> datetime:
            ((told,),) = there.ask(select(there.database.now))
            assert told.tzinfo is UTC
            return told  # type: ignore[no-any-return]

        first, end = now(), monotonic() + 10
        assert abs(datetime.now(UTC) - first) < timedelta(seconds=30)
        told = {first}
        while len(told) < 3 and monotonic() < end:
            told.add(now())
        assert max(told) > first
        assert any(moment.microsecond for moment in told)

    @pytest.mark.parametrize("seconds", [0.0, 0.001, 1.25, -2.5, 7_776_000.5])
    def test_so_many_seconds_from_now(self, there: Opened, seconds: float) -> None:
        """OB-4"""
        question = select(there.database.now, there.database.after("wait"))
        ((now, later),) = there.ask(question, wait=seconds)
        assert abs((later - now).total_seconds() - seconds) < 0.1

    def test_stored_moments_differ_by_what_they_were_apart(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        with there.engine.begin() as connection:
            row = update(table).where(table.c.id == bindparam("number"))
            waits = [{"number": 1, "wait": 0.25}, {"number": 2, "wait": 0.75}]
            connection.execute(row.values(at=there.database.after("wait")), waits)
        found = dict(there.ask(select(table.c.id, table.c.at).where(table.c.at.is_not(None))))
        assert timedelta(seconds=0.4) < found[2] - found[1] < timedelta(seconds=1.5)
        due = select(table.c.id).where(table.c.at <= there.database.after("wait"))
        assert len(there.ask(due, wait=60)) == 2
        assert there.ask(due, wait=-60) == []

    def test_a_moment_comes_back_to_the_microsecond(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        with there.engine.begin() as connection:
            connection.execute(update(table).where(table.c.id == 1).values(at=NOTED))
        ((found,),) = there.ask(select(table.c.at).where(table.c.at == NOTED))
        assert (found, found.tzinfo) == (NOTED, UTC)

    # --- values and statements ---------------------------------------------------------------

    def test_among_takes_any_list(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        question = select(table.c.id).where(there.database.among(table.c.id, "wanted"))
        assert sorted(there.ask(question, wanted=[1, 3, 99])) == [(1,), (3,)]
        assert there.ask(question, wanted=[]) == []

    def test_chosen_is_decided_once_even_for_the_table_that_is_written(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        free = select(table.c.id).where(table.c.name.is_(None)).order_by(table.c.id)
        first = free.limit(2).with_for_update(skip_locked=True)
        chosen = there.database.chosen(table.c.id, first)
        take = update(table).where(chosen).values(name="taken")
        with there.engine.begin() as connection:
            assert connection.execute(take).rowcount == 2
            assert connection.execute(take).rowcount == 2
        assert there.ask(free) == [(5,)]

    def test_the_first_of_each_lane(self, there: Opened) -> None:
        """OB-9"""
        table = things(there)
        rows = select(table.c.id.label("address")).order_by(table.c.id)
        question = there.database.first_of_each(table.c.lane, rows, "each", 2)
        lanes = there.database.bound_lanes([0, 1])
        assert sorted(there.ask(question, each=1, **lanes)) == [(1,), (2,)]
        assert sorted(there.ask(question, each=2, **lanes)) == [(1,), (2,), (3,), (4,)]

    def test_rows_are_added_once_and_values_replaced(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        with there.engine.begin() as connection:
            connection.execute(there.database.add_missing(table), [{"id": 5}, {"id": 6}])
            given: dict[str, Any] = {"id": bindparam("number"), "name": bindparam("new_name")}
            replace = there.database.upsert(table, "id", given)
            for number in (6, 7):
                connection.execute(replace, {"number": number, "new_name": "new"})
        found = select(table.c.id, table.c.name).where(table.c.id > 4).order_by(table.c.id)
        assert there.ask(found) == [(5, None), (6, "new"), (7, "new")]

    def test_one_that_is_there_is_answered_as_it_is_or_not_at_all(self, there: Opened) -> None:
        """ID-1: a row that was added answers itself"""
        table = things(there)
        add = there.database.add_missing(table).returning(table.c.id, table.c.name)
        with there.engine.begin() as connection:
            assert connection.execute(add, {"id": 6, "name": "new"}).all() == [(6, "new")]
            assert connection.execute(add, {"id": 5, "name": "new"}).all() in ([], [(5, None)])

    def test_an_id_comes_back_as_it_was(self, there: Opened) -> None:
        """OB-4"""
        table, mark = things(there), uuid4()
        with there.engine.begin() as connection:
            connection.execute(update(table).where(table.c.id == 1).values(mark=mark))
        assert there.ask(select(table.c.mark).where(table.c.mark == mark)) == [(mark,)]

    def test_texts_are_compared_exactly_and_may_be_long(self, there: Opened) -> None:
        """OB-4"""
        migrate(there.engine, there.database)
        table = dead_letter_tables(MetaData(), there.database).operations
        names = ["a", "A", "a ", "ä", "a\u0308", "あ", "🙂"]
        long = "長" * 400_000  # over a million bytes
        with there.engine.begin() as connection:
            for name in names:
                row = {"kind": "redrive", "selected": 1, "reason": name, "author": name}
                connection.execute(table.insert(), {**row, "selection": long, "done_at": NOTED})
        for name in names:
            found = select(table.c.reason, table.c.selection).where(table.c.author == name)
            assert there.ask(found) == [(name, long)]

    # --- connections -------------------------------------------------------------------------

    def test_a_connection_that_commits_by_itself_is_recognised(self, there: Opened) -> None:
        """OB-1"""
        with there.engine.connect() as connection:
            assert not there.database.is_autocommit(connection)
            connection.execute(text("SELECT 1"))
            assert not there.database.is_autocommit(connection)
        with there.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            assert there.database.is_autocommit(connection)

    def test_async_code_reaches_the_same_database(self, there: Opened) -> None:
        """OB-1"""
        table = things(there)

        async def write() -> None:
            engine = there.database.async_engine(there.url, 2)
            async with engine.begin() as connection:
                row = update(table).where(table.c.id == 1)
                await connection.execute(row.values(at=NOTED, body="x"))
                assert not await connection.run_sync(there.database.is_autocommit)
            await engine.dispose()

        asyncio.run(write())
        assert there.ask(select(table.c.at, table.c.body).where(table.c.id == 1)) == [(NOTED, "x")]

    # --- faults ------------------------------------------------------------------------------

    def test_waiting_too_long_for_a_lock_passes(self, there: Opened) -> None:
        """ER-2"""
        things(there)
        with there.engine.connect() as holder, there.engine.connect() as other:
            change(holder, 1)
            # Where the BEGIN is refused already, the driver's own error comes through.
            with pytest.raises(Exception) as met:
                self.hurry(other)
                change(other, 1)
            assert there.database.passes(met.value)

    def test_a_mistake_neither_passes_nor_is_a_lost_connection(self, there: Opened) -> None:
        """ER-2"""
        table = things(there)
        for mistake in (text("SELECT * FROM nowhere"), text("SELEKT 1")):
            with there.engine.connect() as connection, pytest.raises(DBAPIError) as met:
                connection.execute(mistake)
            assert not there.database.passes(met.value)
            assert not there.database.is_lost(met.value)
        with there.engine.connect() as connection, pytest.raises(IntegrityError) as twice:
            connection.execute(table.insert(), {"id": 1})
        assert not there.database.passes(twice.value)
        assert not there.database.is_lost(twice.value)

    def test_breaking_off_ends_a_transaction_and_frees_its_locks(self, there: Opened) -> None:
        """OB-7"""
        things(there)
        victim = there.engine.connect()
        change(victim, 1)
        mark = there.database.session_mark(victim)
        with there.engine.connect() as connection:
            there.database.break_off(connection, mark)
        with there.engine.begin() as connection:
            change(connection, 1)
            connection.execute(text("UPDATE things SET name = NULL WHERE id = 1"))
        with pytest.raises(DBAPIError) as met:
            change(victim, 2)
        assert there.database.one_writer or there.database.is_lost(met.value)
        victim.invalidate()
        victim.close()
        assert changed(there) == []


class ServedDatabaseSuite(DatabaseSuite):
    """For one where many write at a time: what they then say to each other."""

    def test_a_deadlock_passes(self, there: Opened) -> None:
        """ER-2"""
        things(there)

        def meets(connection: Connection, number: int) -> DBAPIError | None:
            try:
                change(connection, number)
            except DBAPIError as error:
                return error
            finally:
                connection.rollback()
            return None

        with (
            there.engine.connect() as one,
            there.engine.connect() as other,
            ThreadPoolExecutor() as beside,
        ):
            change(one, 1)
            change(other, 2)
            answer = beside.submit(meets, other, 1)
            errors = [met for met in (meets(one, 2), answer.result()) if met is not None]
        assert len(errors) == 1
        assert there.database.passes(errors[0])
        assert not there.database.is_lost(errors[0])

    def test_breaking_off_what_has_ended_already_is_fine(self, there: Opened) -> None:
        """OB-7"""
        with there.engine.connect() as victim:
            mark = there.database.session_mark(victim)
            victim.invalidate()
        with there.engine.connect() as connection:
            there.database.break_off(connection, mark)
            there.database.break_off(connection, mark)
            assert connection.scalar(text("SELECT 1")) == 1

    def test_breaking_off_an_async_session(self, there: Opened) -> None:
        """OB-7"""
        things(there)

        async def suffer() -> BaseException:
            engine = there.database.async_engine(there.url, 2)
            victim = await engine.connect()
            await victim.run_sync(change, 1)
            mark = await victim.run_sync(there.database.session_mark)
            with there.engine.connect() as connection:
                there.database.break_off(connection, mark)
            with pytest.raises(DBAPIError) as met:
                await victim.run_sync(change, 2)
            await victim.invalidate()
            await victim.close()
            await engine.dispose()
            return met.value

        assert there.database.is_lost(asyncio.run(suffer()))
        assert changed(there) == []

    def test_a_text_that_is_too_long_is_refused_and_not_cut(self, there: Opened) -> None:
        """OB-4"""
        table = things(there)
        with there.engine.connect() as connection, pytest.raises(DBAPIError):
            connection.execute(table.insert(), {"id": 9, "name": "x" * 101})

    def test_publishers_to_one_strand_wait_for_each_other(self, there: Opened) -> None:
        """OB-9"""
        migrate(there.engine, there.database)
        with there.engine.connect() as one, there.engine.connect() as other:
            lock(there, one, [5, -7])
            lock(there, other, [6])
            with pytest.raises(DBAPIError) as met:
                self.hurry(other)
                lock(there, other, [-7])
            assert there.database.passes(met.value)
            other.rollback()
            one.commit()
            lock(there, other, [5, -7])


def lock(there: Opened, connection: Connection, strands: list[int]) -> None:
    step = there.database.lock_strands(strands)
    assert step is not None
    connection.execute(step.statement, step.values)
