"""Publishing on a driver's own connection in wrong ways; all of it on SQLite's file."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from typing import Any

import aiosqlite

from tests.wrong_use.misuse import Misuse, Placed
from todoke import Todoke
from todoke.errors import (
    InvalidOption,
    NotAwaited,
    NotInTransaction,
    OtherDatabase,
    SchemaOutdated,
    TodokeError,
)

ORDER = "INSERT INTO orders VALUES (1)"


def with_autocommit(app: Todoke) -> None:
    with closing(sqlite3.connect(str(app.url.database), isolation_level=None)) as connection:
        app.publish(connection, Placed(order_id=1))


def in_another_file(app: Todoke) -> None:
    with closing(sqlite3.connect("elsewhere.db")) as connection, connection:
        app.publish(connection, Placed(order_id=1))


def in_memory(app: Todoke) -> None:
    with closing(sqlite3.connect(":memory:")) as connection, connection:
        app.publish(connection, Placed(order_id=1))


def on_a_cursor(app: Any) -> None:
    with closing(sqlite3.connect(str(app.url.database))) as connection, connection:
        connection.execute(ORDER)
        app.publish(connection.cursor(), Placed(order_id=1))


def without_tables(app: Todoke) -> None:
    Path("bare.db").touch()
    bare = Todoke("sqlite:///bare.db", settings=app.settings.with_values({}))
    try:
        with closing(sqlite3.connect("bare.db")) as connection, connection:
            bare.publish(connection, Placed(order_id=1))
    finally:
        bare.close()


def an_application_on_a_connection(app: Todoke) -> None:
    with closing(sqlite3.connect(str(app.url.database))) as connection:
        Todoke(connection)


def a_forgotten_await(app: Todoke) -> None:
    async def forget() -> None:
        async with aiosqlite.connect(str(app.url.database)) as connection:
            await connection.execute(ORDER)
            app.publish(connection, Placed(order_id=1))  # type: ignore[unused-coroutine]
            await connection.commit()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            asyncio.run(forget())
        finally:
            gc.collect()


CONNECTING = [
    Misuse(
        "a sqlite3 connection that commits by itself",
        with_autocommit,
        NotInTransaction,
        ("publish(Placed) got a sqlite3 connection in autocommit mode", '`conn.execute("BEGIN")`'),
    ),
    Misuse(
        "a sqlite3 connection to another file",
        in_another_file,
        OtherDatabase,
        ("publish(Placed) got a handle on sqlite://", "elsewhere.db", "its own Todoke"),
    ),
    Misuse(
        "a sqlite3 connection to memory",
        in_memory,
        OtherDatabase,
        ("publish(Placed) got a handle on sqlite:///", "two databases cannot commit as one"),
    ),
    Misuse(
        "a cursor instead of its connection",
        on_a_cursor,
        TodokeError,
        ("publish(Placed) got Cursor", "or a connection of psycopg", "sqlite3"),
    ),
    Misuse(
        "a driver's connection before todoke's tables are there",
        without_tables,
        SchemaOutdated,
        ("todoke's tables are missing", "Run `todoke migrate`"),
    ),
    Misuse(
        "an application on a driver's connection",
        an_application_on_a_connection,
        InvalidOption,
        ("Todoke(database) = 'Connection'", "pass an address"),
    ),
    Misuse(
        "a forgotten await",
        a_forgotten_await,
        NotAwaited,
        ("publish(Placed) was called without `await`", "Write `await app.publish"),
    ),
]
