"""What every database promises about time, values and comparisons."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import (
    Column,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    bindparam,
    make_url,
    select,
    text,
    update,
)

from tests.databases.conftest import Opened
from tests.waiting import until
from todoke.database import LONG_TEXT, UNIQUE_ID, Moment, same_database
from todoke.databases.upgrade import migrate
from todoke.dead_letters.table import dead_letter_tables

TOKYO = timezone(timedelta(hours=9))
NOTED = datetime(2026, 3, 1, 8, 30, 0, 123456, TOKYO)


def things(there: Opened) -> Table:
    """A table of each type that todoke's own are made of, with five rows."""
    table = Table(
        "things",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("lane", SmallInteger, nullable=False, server_default="0"),
        Column("name", String(100)),
        Column("at", Moment()),
        Column("body", LONG_TEXT),
        Column("mark", UNIQUE_ID),
    )
    with there.engine.begin() as connection:
        table.create(connection)
        rows = [{"id": number, "lane": number % 2} for number in range(1, 6)]
        connection.execute(table.insert(), rows)
    return table


def ask(there: Opened, question: Any, **values: Any) -> list[Any]:
    with there.engine.connect() as connection:
        return list(connection.execute(question, values))


def test_its_time_is_utc_moves_on_and_tells_fractions_of_seconds(there: Opened) -> None:
    """OB-4"""

    def now() -> datetime:
        ((told,),) = ask(there, select(there.database.now))
        assert told.tzinfo is UTC
        return told  # type: ignore[no-any-return]

    first = now()
    assert abs(datetime.now(UTC) - first) < timedelta(seconds=30)
    until(lambda: now() > first)
    until(lambda: first.microsecond != now().microsecond != 0)


@pytest.mark.parametrize("seconds", [0.0, 0.001, 1.25, -2.5, 7_776_000.5])
def test_so_many_seconds_from_now(there: Opened, seconds: float) -> None:
    """OB-4"""
    question = select(there.database.now, there.database.after("wait"))
    ((now, later),) = ask(there, question, wait=seconds)
    assert abs((later - now).total_seconds() - seconds) < 0.1


def test_stored_moments_differ_by_what_they_were_apart(there: Opened) -> None:
    """OB-4"""
    table = things(there)
    with there.engine.begin() as connection:
        row = update(table).where(table.c.id == bindparam("number"))
        waits = [{"number": 1, "wait": 0.25}, {"number": 2, "wait": 0.75}]
        connection.execute(row.values(at=there.database.after("wait")), waits)
    found = dict(ask(there, select(table.c.id, table.c.at).where(table.c.at.is_not(None))))
    assert timedelta(seconds=0.4) < found[2] - found[1] < timedelta(seconds=1.5)
    due = select(table.c.id).where(table.c.at <= there.database.after("wait"))
    assert len(ask(there, due, wait=60)) == 2
    assert ask(there, due, wait=-60) == []


def test_a_moment_comes_back_to_the_microsecond(there: Opened) -> None:
    """OB-4"""
    table = things(there)
    with there.engine.begin() as connection:
        connection.execute(update(table).where(table.c.id == 1).values(at=NOTED))
    ((found,),) = ask(there, select(table.c.at).where(table.c.at == NOTED))
    assert (found, found.tzinfo) == (NOTED, UTC)


def test_among_takes_any_list(there: Opened) -> None:
    """OB-4"""
    table = things(there)
    question = select(table.c.id).where(there.database.among(table.c.id, "wanted"))
    assert sorted(ask(there, question, wanted=[1, 3, 99])) == [(1,), (3,)]
    assert ask(there, question, wanted=[]) == []


def test_chosen_is_decided_once_even_for_the_table_that_is_written(there: Opened) -> None:
    """OB-4"""
    table = things(there)
    free = select(table.c.id).where(table.c.name.is_(None)).order_by(table.c.id)
    take = (
        update(table)
        .where(there.database.chosen(table.c.id, free.limit(2).with_for_update(skip_locked=True)))
        .values(name="taken")
    )
    with there.engine.begin() as connection:
        assert connection.execute(take).rowcount == 2
        assert connection.execute(take).rowcount == 2
    assert ask(there, free) == [(5,)]


def test_the_first_of_each_lane(there: Opened) -> None:
    """OB-9"""
    table = things(there)
    rows = select(table.c.id.label("address")).order_by(table.c.id)
    question = there.database.first_of_each(table.c.lane, rows, "each", 2)
    lanes = there.database.bound_lanes([0, 1])
    assert sorted(ask(there, question, each=1, **lanes)) == [(1,), (2,)]
    assert sorted(ask(there, question, each=2, **lanes)) == [(1,), (2,), (3,), (4,)]


def test_rows_are_added_once_and_values_replaced(there: Opened) -> None:
    """OB-4"""
    table = things(there)
    with there.engine.begin() as connection:
        connection.execute(there.database.add_missing(table), [{"id": 5}, {"id": 6}])
        given: dict[str, Any] = {"id": bindparam("number"), "name": bindparam("new_name")}
        replace = there.database.upsert(table, "id", given)
        for number in (6, 7):
            connection.execute(replace, {"number": number, "new_name": "new"})
    found = ask(there, select(table.c.id, table.c.name).where(table.c.id > 4).order_by(table.c.id))
    assert found == [(5, None), (6, "new"), (7, "new")]


def test_an_id_comes_back_as_it_was(there: Opened) -> None:
    """OB-4"""
    table, mark = things(there), uuid4()
    with there.engine.begin() as connection:
        connection.execute(update(table).where(table.c.id == 1).values(mark=mark))
    assert ask(there, select(table.c.mark).where(table.c.mark == mark)) == [(mark,)]


def test_texts_are_compared_exactly_and_may_be_long(there: Opened) -> None:
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
        found = ask(there, select(table.c.reason, table.c.selection).where(table.c.author == name))
        assert found == [(name, long)]


def test_a_connection_that_commits_by_itself_is_recognised(there: Opened) -> None:
    """OB-1"""
    with there.engine.connect() as connection:
        assert not there.database.is_autocommit(connection)
        connection.execute(text("SELECT 1"))
        assert not there.database.is_autocommit(connection)
    with there.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        assert there.database.is_autocommit(connection)


async def test_async_code_reaches_the_same_database(there: Opened) -> None:
    """OB-1"""
    table = things(there)
    engine = there.database.async_engine(there.url, 2)
    async with engine.begin() as connection:
        await connection.execute(update(table).where(table.c.id == 1).values(at=NOTED, body="x"))
        assert not await connection.run_sync(there.database.is_autocommit)
    await engine.dispose()
    assert ask(there, select(table.c.at, table.c.body).where(table.c.id == 1)) == [(NOTED, "x")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mariadb+pymysql://me@host/shop", "mysql+aiomysql://you@host:3306/shop?charset=utf8mb4"),
        ("postgresql+psycopg://me@host/shop", "postgresql+asyncpg://host:5432/shop"),
    ],
)
def test_two_addresses_of_one_database_are_one_place(one: str, other: str) -> None:
    """OB-1"""
    assert same_database(make_url(one), make_url(other))
    assert not same_database(make_url(one), make_url(other.replace("shop", "bank")))
