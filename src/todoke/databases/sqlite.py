"""SQLite: one writer at a time, so every writing transaction begins IMMEDIATE.

A deferred transaction that turns to writing fails at once with SQLITE_BUSY, whatever the busy
time-out says; one that begins IMMEDIATE waits its turn.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from time import sleep
from typing import Any

from sqlalchemy import (
    JSON,
    URL,
    Connection,
    Engine,
    Select,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    select,
    type_coerce,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import QueuePool, StaticPool
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import Float, String

from todoke.database import READ_ONLY, Database, Moment
from todoke.databases.loop_pool import PoolPerLoop
from todoke.databases.sqlite_bell import data_version
from todoke.errors import InvalidOption
from todoke.writing import Execute

_FORMAT = "%Y-%m-%d %H:%M:%f"
_SEEN = "todoke_seen"

# How long to wait for another who opens the same new file; three seconds in all.
_PAUSES = (0.01,) * 20 + (0.1,) * 28


class Sqlite(Database):
    kind = "sqlite"
    one_writer = True

    def engine(self, url: URL, pool_size: int, patience: float = 30.0) -> Engine:
        options: dict[str, Any] = {"timeout": patience, "check_same_thread": False}
        if in_memory(url):
            engine = create_engine(url, poolclass=StaticPool, connect_args=options)
        else:
            engine = create_engine(
                url,
                poolclass=QueuePool,
                pool_size=pool_size,
                max_overflow=5,
                connect_args=options,
            )
        prepare(engine)
        return engine

    def async_engine(self, url: URL, pool_size: int) -> AsyncEngine:
        if in_memory(url):
            raise InvalidOption(
                "database.url", "sqlite://", "an in-memory database has no async side. Use a file."
            )
        engine = create_async_engine(
            url.set(drivername="sqlite+aiosqlite"),
            poolclass=PoolPerLoop,
            connect_args={"timeout": 30, "check_same_thread": False},
        )
        prepare(engine.sync_engine)
        return engine

    def adopt(self, engine: Engine) -> Engine:
        prepare(engine)
        return engine

    def _now(self) -> ColumnElement[datetime]:
        return _moment("now")

    def _after(self, parameter: str) -> ColumnElement[datetime]:
        wait = func.printf("%+.6f seconds", bindparam(parameter, type_=Float()), type_=String())
        return _moment("now", wait)

    def among(self, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
        # As one parameter: the statement is the same for any number of values, and compiled once.
        values = func.json_each(bindparam(parameter, type_=JSON())).table_valued("value")
        return column.in_(select(values.c.value))

    def chosen(self, column: ColumnElement[Any], subquery: Any) -> ColumnElement[bool]:
        return column.in_(subquery)

    def first_of_each(self, lane: Any, rows: Select[Any], limit: str, lanes: int) -> Select[Any]:
        numbers = func.json_each(bindparam("lanes", type_=JSON())).table_valued("value")
        live = lane.table.alias("first")
        found = rows.where(lane == numbers.c.value).limit(bindparam(limit)).correlate(numbers)
        return select(live.c.id).select_from(numbers.join(live, live.c.id.in_(found)))

    def upsert(self, table: Table, key: str, values: Mapping[str, Any]) -> Any:
        row = insert(table).values(**values)
        return row.on_conflict_do_update(index_elements=[key], set_=dict(values))

    def add_missing(self, table: Table) -> Any:
        return insert(table).on_conflict_do_nothing()

    def lock_strands(self, strands: Sequence[int]) -> Execute | None:
        return None  # the transaction is the only one that writes

    def others_committed(self, connection: Connection) -> bool:
        driver: Any = connection.connection.driver_connection
        try:
            version = data_version(driver)
        except sqlite3.Error:
            return True  # the next statement will tell what is wrong
        seen, connection.info[_SEEN] = connection.info.get(_SEEN), version
        return version is None or version != seen

    def session_mark(self, connection: Connection) -> Any:
        driver = connection.connection.driver_connection
        return getattr(driver, "_conn", driver)  # aiosqlite wraps the one that can be interrupted

    def break_off(self, connection: Connection, victim: Any) -> None:
        # Closed rather than rolled back: a statement of the given-up handler that came later
        # would otherwise commit on its own. In no transaction: that would wait for the victim's.
        victim.interrupt()
        victim.close()

    def is_autocommit(self, connection: Connection) -> bool:
        wish = connection.get_execution_options().get("isolation_level")
        always = getattr(connection.engine.dialect, "_on_connect_isolation_level", None)
        return (wish or always) == "AUTOCOMMIT"

    def is_lost(self, error: BaseException) -> bool:
        # A mistake in a statement is an OperationalError here, too: SQLITE_ERROR.
        return super().is_lost(error) and _code(error) != sqlite3.SQLITE_ERROR

    def lacks_table(self, error: BaseException) -> bool:
        return isinstance(error, sqlite3.Error) and "no such table" in str(error)

    def passes(self, error: BaseException) -> bool:
        return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def in_memory(url: URL) -> bool:
    return url.database in (None, "", ":memory:") or url.query.get("mode") == "memory"


def missing_file(url: URL) -> Path | None:
    """Where a file should be and is not; connecting would create it, and a typing error with it."""
    name = url.database or ""
    if url.get_backend_name() != "sqlite" or in_memory(url) or name.startswith("file:"):
        return None
    return None if Path(name).exists() else Path(name).absolute()


def prepare(engine: Engine) -> None:
    """Durable settings for each connection, and transactions that are really transactions."""
    if event.contains(engine, "begin", _begin):
        return
    event.listen(engine, "connect", _settle_in)
    event.listen(engine, "begin", _begin)


def _settle_in(connection: Any, _record: object) -> None:
    # The driver's own transaction control would open one late, or not at all for DDL.
    connection.isolation_level = None
    cursor = connection.cursor()
    _keep_a_log(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _keep_a_log(cursor: Any) -> None:
    """Who opens a new file first changes it; others are refused at once instead of kept waiting."""
    for pause in (*_PAUSES, None):
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if pause is None or _code(error) != sqlite3.SQLITE_BUSY:
                raise
            sleep(pause)
        else:
            return


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get(READ_ONLY)
    # On the driver's own cursor: each transaction passes here, and this is half as long a way.
    cursor = connection.connection.cursor()
    cursor.execute("BEGIN" if reads else "BEGIN IMMEDIATE")
    cursor.close()


def _code(error: BaseException) -> int:
    """SQLite's own number for what went wrong; 0 where it was not SQLite."""
    original = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(original, "sqlite_errorcode", 0)) & 0xFF


def _moment(*arguments: Any) -> ColumnElement[datetime]:
    # Milliseconds are all SQLite tells; three more digits make the text sort with bound moments.
    text = func.strftime(_FORMAT, *arguments, type_=String())
    return type_coerce(text.concat("000"), Moment())
