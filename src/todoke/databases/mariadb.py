"""MariaDB from 10.6 on: SKIP LOCKED, no UPDATE … RETURNING, tables that commit by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property, partial
from math import ceil
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    MetaData,
    Select,
    SmallInteger,
    Table,
    bindparam,
    create_engine,
    delete,
    event,
    func,
    literal_column,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects.mysql import insert
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import Float

from todoke.database import MARIADB, Database, Moment
from todoke.databases.loop_pool import PoolPerLoop
from todoke.databases.pool import try_after_a_rest
from todoke.writing import Execute

_NO_TABLE = 1146
# lock wait time-out, deadlock, row changed since it was read
_PASSING = {1205, 1213, 1020}
_VICTIM = {1213, 1020}
_IN_TRANSACTION = text("SELECT @@in_transaction")
# 0 is the driver's word for a connection that it has closed already.
_CLOSED = 0
_TOO_MANY, _SHUTDOWN, _KILLED = 1040, 1053, 1927
_NO_SOCKET, _NO_HOST, _GONE, _LOST, _LOST_EXTENDED = 2002, 2003, 2006, 2013, 2055
_AWAY = {
    _CLOSED, _TOO_MANY, _SHUTDOWN, _KILLED, _NO_SOCKET, _NO_HOST, _GONE, _LOST, _LOST_EXTENDED,
}  # fmt: skip
_NOW: ColumnElement[datetime] = literal_column("UTC_TIMESTAMP(6)", Moment())
_MICROSECOND: ColumnElement[Any] = literal_column("MICROSECOND")
# The server's locks have names; each database gets its own.
_MIGRATION = "CONCAT('todoke migrate ', MD5(DATABASE()))"
_MIGRATION_SECONDS = 600
# Locks that end with a transaction are locks of rows: strands share so many.
_STRAND_LOCKS = 4096


class MariaDb(Database):
    kind = "mariadb"
    returns_updates = False
    partial_indexes = False
    shortest_poll: float = 0.02
    lanes_at_once = 16
    lanes_are_one_parameter = False

    def engine(self, url: URL, pool_size: int, patience: float = 30.0) -> Engine:
        engine = create_engine(
            url.set(drivername="mariadb+pymysql"),
            pool_size=pool_size,
            max_overflow=5,
            **_options(patience),
        )
        return try_after_a_rest(engine)

    def agents_engine(self, url: URL, idle: float) -> Engine:
        engine = super().agents_engine(url, idle)
        event.listen(engine, "connect", partial(_end_when_idle, max(1, ceil(idle))))
        return engine

    def async_engine(self, url: URL, pool_size: int) -> AsyncEngine:
        known = url.difference_update_query(["ssl_disabled"])  # to this driver it is unknown
        engine = create_async_engine(
            known.set(drivername="mariadb+aiomysql"),
            poolclass=PoolPerLoop,
            pool_size=pool_size,
            **_options(30.0),
        )
        try_after_a_rest(engine.sync_engine)
        return engine

    def adopt(self, engine: Engine) -> Engine:
        return engine.execution_options(isolation_level="READ COMMITTED")

    @contextmanager
    def one_migration(self, engine: Engine) -> Iterator[Connection]:
        # The lock belongs to the session: it must outlive the commit of what it guards.
        with engine.connect() as connection:
            lock = text(f"SELECT GET_LOCK({_MIGRATION}, {_MIGRATION_SECONDS})")
            if connection.scalar(lock) != 1:
                raise TimeoutError(
                    "Another migration of this database has not ended for 10 minutes. "
                    "Look for it in SHOW PROCESSLIST, then run `todoke migrate` again."
                )
            connection.commit()
            try:
                with connection.begin():
                    yield connection
            finally:
                if not connection.invalidated:
                    connection.execute(text(f"DO RELEASE_LOCK({_MIGRATION})"))

    def _now(self) -> ColumnElement[datetime]:
        return _NOW

    def _after(self, parameter: str) -> ColumnElement[datetime]:
        wait = bindparam(parameter, type_=Float()) * 1_000_000
        return func.timestampadd(_MICROSECOND, wait, _NOW, type_=Moment())

    def among(self, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
        return column.in_(bindparam(parameter, expanding=True))

    def chosen(self, column: ColumnElement[Any], subquery: Any) -> ColumnElement[bool]:
        # Only a derived table may have a limit here, and read from the table that is written.
        return column.in_(select(*subquery.subquery().c))

    def first_of_each(self, lane: Any, rows: Select[Any], limit: str, lanes: int) -> Select[Any]:
        # There is no LATERAL: each lane is a query of its own.
        firsts = [
            rows.where(lane == bindparam(f"lane_{number}")).limit(bindparam(limit))
            for number in range(lanes)
        ]
        return select(union_all(*firsts).subquery("first").c.address)

    def bound_lanes(self, lanes: Sequence[int]) -> dict[str, Any]:
        return {f"lane_{number}": lane for number, lane in enumerate(lanes)}

    def upsert(self, table: Table, key: str, values: Mapping[str, Any]) -> Any:
        return insert(table).values(**values).on_duplicate_key_update(dict(values))

    def add_missing(self, table: Table) -> Any:
        # Not INSERT IGNORE, which ignores every other mistake as well.
        key = next(iter(table.primary_key))
        return insert(table).on_duplicate_key_update({key.name: key})

    def lock_by_id(self, rows: Select[Any], table: Table) -> Select[Any]:
        # Found through another index, rows that it only passed there would stay locked.
        for name in MARIADB:
            rows = rows.with_hint(table, "FORCE INDEX (PRIMARY)", name)
        return super().lock_by_id(rows, table)

    def delete_rows(self, connection: Connection, table: Table, ids: Sequence[Any]) -> None:
        # One by one: a list that is long for its table makes it read, and wait for, all rows.
        one = delete(table).where(table.c.id == bindparam("this_id", type_=table.c.id.type))
        connection.execute(one, [{"this_id": id} for id in ids])

    def declare(self, metadata: MetaData) -> None:
        number = Column("number", SmallInteger, primary_key=True, autoincrement=False)
        Table(f"{self.prefix}strands", metadata, number)

    def lock_strands(self, strands: Sequence[int]) -> Execute | None:
        # In one order by all, or two publishers would wait for each other.
        locks = sorted({strand % _STRAND_LOCKS for strand in strands})
        return Execute(self._lock, [{"number": number} for number in locks])

    @cached_property
    def _lock(self) -> Any:
        own = MetaData()
        self.declare(own)
        return self.add_missing(own.tables[f"{self.prefix}strands"])

    def session_mark(self, connection: Connection) -> Any:
        return _driver(connection).thread_id()

    def break_off(self, connection: Connection, victim: Any) -> None:
        # KILL takes no parameters. One that has ended by itself is unknown, which is as good.
        with suppress(OperationalError), connection.begin():
            connection.exec_driver_sql(f"KILL CONNECTION {int(victim)}")

    def is_autocommit(self, connection: Connection) -> bool:
        return bool(_driver(connection).get_autocommit())

    def is_lost(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and (
            error.connection_invalidated or code_of(error) in _AWAY
        )

    def lacks_table(self, error: BaseException) -> bool:
        return error.args[:1] == (_NO_TABLE,)

    def is_victim(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and code_of(error) in _VICTIM

    def is_untouched(self, connection: Connection) -> bool:
        # The server is asked: drivers do not keep what it says of this along with a SELECT.
        return not connection.execute(_IN_TRANSACTION).scalar_one()

    def passes(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and code_of(error) in _PASSING


def _options(patience: float) -> dict[str, Any]:
    wait = max(1, ceil(patience))
    # An engine of ours depends on no default of the server: not on its isolation level, and a
    # text that is too long is refused, not cut.
    settings = (
        f"SET SESSION innodb_lock_wait_timeout = {wait}, "
        "sql_mode = CONCAT_WS(',', @@sql_mode, 'STRICT_ALL_TABLES')"
    )
    return {
        "isolation_level": "READ COMMITTED",
        "connect_args": {"connect_timeout": 5, "charset": "utf8mb4", "init_command": settings},
    }


def _end_when_idle(seconds: int, driver: Any, _record: Any) -> None:
    with driver.cursor() as cursor:
        cursor.execute(f"SET SESSION idle_transaction_timeout = {seconds}")


def _driver(connection: Connection) -> Any:
    return connection.connection.driver_connection


def code_of(error: DBAPIError) -> int | None:
    """MariaDB's own number for what went wrong."""
    told = error.orig.args[0] if error.orig is not None and error.orig.args else None
    return told if isinstance(told, int) else None
