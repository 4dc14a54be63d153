"""What every database says when something goes wrong, with real faults."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import Connection, make_url, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from tests.databases.conftest import Opened, opened
from tests.databases.test_contract import things
from tests.servers.mariadb import MariaDbServer, mariadb_instance
from tests.servers.postgres import PostgresServer, postgres_instance
from todoke.databases.upgrade import migrate


def change(connection: Connection, number: int) -> None:
    statement = "UPDATE things SET name = 'changed' WHERE id = :number"
    connection.execute(text(statement), {"number": number})


def changed(there: Opened) -> list[int]:
    with there.engine.connect() as connection:
        found = connection.scalars(text("SELECT id FROM things WHERE name = 'changed'"))
        return sorted(found)


def test_a_deadlock_passes(served: Opened) -> None:
    """ER-2"""
    things(served)

    def other_way(connection: Connection) -> DBAPIError | None:
        try:
            change(connection, 1)
        except DBAPIError as error:
            return error
        finally:
            connection.rollback()
        return None

    with (
        served.engine.connect() as one,
        served.engine.connect() as other,
        ThreadPoolExecutor() as p,
    ):
        change(one, 1)
        change(other, 2)
        answer = p.submit(other_way, other)
        try:
            change(one, 2)
            error = None
        except DBAPIError as met:
            error = met
        one.rollback()
        errors = [each for each in (error, answer.result()) if each is not None]
    assert len(errors) == 1
    assert served.database.passes(errors[0])
    assert not served.database.is_lost(errors[0])


def test_waiting_too_long_for_a_lock_passes(there: Opened) -> None:
    """ER-2"""
    things(there)
    with there.engine.connect() as holder, there.engine.connect() as other:
        change(holder, 1)
        # SQLite refuses the BEGIN already, where the driver's own error comes through.
        with pytest.raises((DBAPIError, sqlite3.OperationalError)) as met:
            if there.database.kind == "postgresql":
                other.execute(text("SET LOCAL lock_timeout = '50ms'"))
            change(other, 1)
        assert there.database.passes(met.value)


def test_a_mistake_neither_passes_nor_is_a_lost_connection(there: Opened) -> None:
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


def test_breaking_off_ends_a_transaction_and_frees_its_locks(there: Opened) -> None:
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
    assert there.database.kind == "sqlite" or there.database.is_lost(met.value)
    victim.invalidate()
    victim.close()
    assert changed(there) == []


def test_breaking_off_what_has_ended_already_is_fine(served: Opened) -> None:
    """OB-7"""
    with served.engine.connect() as victim:
        mark = served.database.session_mark(victim)
        victim.invalidate()
    with served.engine.connect() as connection:
        served.database.break_off(connection, mark)
        served.database.break_off(connection, mark)
        assert connection.scalar(text("SELECT 1")) == 1


async def test_breaking_off_an_async_session(served: Opened) -> None:
    """OB-7"""
    things(served)
    engine = served.database.async_engine(served.url, 2)
    victim: AsyncConnection = await engine.connect()
    await victim.run_sync(change, 1)
    mark = await victim.run_sync(served.database.session_mark)
    with served.engine.connect() as connection:
        served.database.break_off(connection, mark)
    with pytest.raises(DBAPIError) as met:
        await victim.run_sync(change, 2)
    assert served.database.is_lost(met.value)
    await victim.invalidate()
    await victim.close()
    await engine.dispose()
    assert changed(served) == []


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_a_server_that_is_away_is_recognised_and_found_again(kind: str) -> None:
    """ER-2"""
    instance: AbstractContextManager[PostgresServer | MariaDbServer] = (
        postgres_instance() if kind == "postgres" else mariadb_instance()
    )
    with instance as server, opened(server.url()) as there:
        with there.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
            server.stop_immediately()
            with pytest.raises(DBAPIError) as broken:
                connection.execute(text("SELECT 1"))
        with pytest.raises(DBAPIError) as refused:
            there.engine.connect()
        for met in (broken, refused):
            assert there.database.is_lost(met.value)
            assert not there.database.passes(met.value)
        server.start()
        with there.engine.connect() as connection:
            assert connection.scalar(text("SELECT 1")) == 1


def test_a_text_that_is_too_long_is_refused_and_not_cut(served: Opened) -> None:
    """OB-4"""
    table = things(served)
    with served.engine.connect() as connection:
        if served.database.kind == "mariadb":
            # What the server's owner chose is not what our own engine works with.
            assert "STRICT_ALL_TABLES" in str(connection.scalar(text("SELECT @@sql_mode")))
        with pytest.raises(DBAPIError):
            connection.execute(table.insert(), {"id": 9, "name": "x" * 101})


def test_publishers_to_one_strand_wait_for_each_other(served: Opened) -> None:
    """OB-9"""
    migrate(served.engine, served.database)
    with served.engine.connect() as one, served.engine.connect() as other:
        lock(served, one, [5, -7])
        lock(served, other, [6])
        with pytest.raises(DBAPIError) as met:
            if served.database.kind == "postgresql":
                other.execute(text("SET LOCAL lock_timeout = '50ms'"))
            lock(served, other, [-7])
        assert served.database.passes(met.value)
        other.rollback()
        one.commit()
        lock(served, other, [5, -7])


def test_an_address_for_mysql_opens_mariadb_too(mariadb_database: str) -> None:
    """OB-2"""
    url = make_url(mariadb_database).set(drivername="mysql+pymysql")
    with opened(url.render_as_string()) as there, there.engine.connect() as connection:
        assert there.database.kind == "mariadb"
        assert connection.execute(select(there.database.now)).scalar_one() is not None


def lock(served: Opened, connection: Connection, strands: list[int]) -> None:
    step = served.database.lock_strands(strands)
    assert step is not None
    connection.execute(step.statement, step.values)
