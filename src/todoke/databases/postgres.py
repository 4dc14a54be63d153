"""PostgreSQL: SKIP LOCKED, COPY, own schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from math import ceil
from typing import Any

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Engine,
    Integer,
    Select,
    SmallInteger,
    Table,
    bindparam,
    create_engine,
    event,
    func,
    literal_column,
    select,
    text,
    true,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import Float

from todoke.clock import Clock
from todoke.database import Database, Moment
from todoke.databases.loop_pool import PoolPerLoop
from todoke.databases.pool import try_after_a_rest
from todoke.databases.postgres_copy import copy
from todoke.databases.postgres_direct import DRIVER, Direct, keep_to_indexes
from todoke.writing import Copier, Execute

# serialization_failure, deadlock_detected, lock_not_available
_NO_TABLE = "42P01"
_PASSING = {"40001", "40P01", "55P03"}
_VICTIM = {"40001", "40P01"}
_IDLE = 0  # psycopg's TransactionStatus
# Classes: connection exception, insufficient resources, operator intervention, system error.
_AWAY = ("08", "53", "57", "58")
_CANCELLED = "57014"
# Of a class that says nothing of lost connections: the server has ended it, being idle for long.
_IDLED = "25P03"
_MIGRATION = 7463653

# Two sizes of lock: who publishes to a few strands locks each of them, and shares their lanes;
# who publishes to very many locks whole lanes. Each is taken in one order by all.
_MOST_LOCKS, _LOCKED_LANES = 1000, 64
_LOCK_STRANDS = text(
    "SELECT pg_advisory_xact_lock_shared(7463653, lane) FROM unnest(:lanes) AS lane "
    "UNION ALL SELECT pg_advisory_xact_lock(strand) FROM unnest(:strands) AS strand"
).bindparams(
    bindparam("lanes", type_=ARRAY(Integer)), bindparam("strands", type_=ARRAY(BigInteger))
)
_LOCK_WHOLE_LANES = text(
    "SELECT pg_advisory_xact_lock(7463653, lane) FROM unnest(:lanes) AS lane"
).bindparams(bindparam("lanes", type_=ARRAY(Integer)))


class Postgres(Database):
    kind = "postgresql"
    begins_anywhere = True
    moves_at_once = True

    def __init__(self, clock: Clock, schema: str | None, prefix: str) -> None:
        super().__init__(clock, schema, prefix)
        self._direct = Direct()

    def engine(self, url: URL, pool_size: int, patience: float = 30.0) -> Engine:
        # An engine of ours never depends on the server's default isolation level.
        engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_size=pool_size,
            max_overflow=5,
            connect_args=self._arguments(),
        )
        return try_after_a_rest(engine)

    def agents_engine(self, url: URL, idle: float) -> Engine:
        engine = super().agents_engine(url, idle)
        # Behind a pooler, others would find what was set on a session that they share.
        if self.prepares:
            event.listen(engine, "connect", keep_to_indexes)
            event.listen(engine, "connect", partial(_end_when_idle, max(1, ceil(idle))))
        return engine

    def async_engine(self, url: URL, pool_size: int) -> AsyncEngine:
        engine = create_async_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            poolclass=PoolPerLoop,
            pool_size=pool_size,
            connect_args=self._arguments(),
        )
        try_after_a_rest(engine.sync_engine)
        return engine

    def _arguments(self) -> dict[str, Any]:
        told: dict[str, Any] = {"connect_timeout": 5, "application_name": "todoke"}
        return told if self.prepares else {**told, "prepare_threshold": None}

    def adopt(self, engine: Engine) -> Engine:
        return engine.execution_options(isolation_level="READ COMMITTED")

    @contextmanager
    def one_migration(self, engine: Engine) -> Iterator[Connection]:
        with super().one_migration(engine) as connection:
            # Workers that start together would race; the lock ends with the transaction.
            connection.execute(func.pg_advisory_xact_lock(_MIGRATION).select())
            yield connection

    def _now(self) -> ColumnElement[datetime]:
        return func.clock_timestamp(type_=Moment())

    def _after(self, parameter: str) -> ColumnElement[datetime]:
        wait = func.make_interval(0, 0, 0, 0, 0, 0, bindparam(parameter, type_=Float()))
        return func.clock_timestamp(type_=Moment()) + wait

    def among(self, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
        return column == func.any(bindparam(parameter, type_=ARRAY(BigInteger)))

    def address(self, table: Table) -> ColumnElement[Any]:
        # The place of the version this statement sees: nothing is searched for twice, and what it
        # costs does not depend on how rows lie beside each other.
        return literal_column("ctid")

    def copier(self, connection: Connection) -> Copier | None:
        return copy if connection.dialect.driver == DRIVER else None

    def chosen(self, column: ColumnElement[Any], subquery: Any) -> ColumnElement[bool]:
        # An array is computed once; IN may be planned as a join that locks more than it needs.
        return column == func.any(func.array(subquery.scalar_subquery()))

    def first_of_each(self, lane: Any, rows: Select[Any], limit: str, lanes: int) -> Select[Any]:
        numbers = (
            func.unnest(bindparam("lanes", type_=ARRAY(SmallInteger)))
            .table_valued("value")
            .render_derived()
        )
        first = rows.where(lane == numbers.c.value).limit(bindparam(limit)).lateral("first")
        return select(first.c.address).select_from(numbers.join(first, true()))

    def upsert(self, table: Table, key: str, values: Mapping[str, Any]) -> Any:
        row = insert(table).values(**values)
        return row.on_conflict_do_update(index_elements=[key], set_=dict(values))

    def add_missing(self, table: Table) -> Any:
        return insert(table).on_conflict_do_nothing()

    def lock_strands(self, strands: Sequence[int]) -> Execute | None:
        lanes = sorted({strand % _LOCKED_LANES for strand in strands})
        if len(strands) > _MOST_LOCKS:
            # Locks live in shared memory, which so many strands would use up.
            return Execute(_LOCK_WHOLE_LANES, {"lanes": lanes})
        return Execute(_LOCK_STRANDS, {"lanes": lanes, "strands": sorted(strands)})

    def fetch(
        self, connection: Connection, statement: Any, values: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        if not _is_direct(connection):
            return super().fetch(connection, statement, values)
        return self._direct.fetch(connection, statement, values)

    def fetch_within(
        self, connection: Connection, statement: Any, values: Mapping[str, Any]
    ) -> Sequence[Sequence[Any]]:
        if not _is_direct(connection):
            return super().fetch_within(connection, statement, values)
        return self._direct.fetch(connection, statement, values, within=True)

    def session_mark(self, connection: Connection) -> Any:
        if not self.prepares:
            # A pooler tells the client a number of its own; asked inside, the server tells its own.
            return connection.execute(func.pg_backend_pid().select()).scalar_one()
        return connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]

    def break_off(self, connection: Connection, victim: Any) -> None:
        with connection.begin():
            connection.execute(func.pg_terminate_backend(victim).select())

    def is_autocommit(self, connection: Connection) -> bool:
        return bool(connection.connection.dbapi_connection.autocommit)  # type: ignore[union-attr]

    def is_lost(self, error: BaseException) -> bool:
        if not isinstance(error, DBAPIError):
            return False
        state = getattr(error.orig, "sqlstate", None) or ""
        away = isinstance(error, OperationalError) and (not state or state.startswith(_AWAY))
        ended = error.connection_invalidated or state == _IDLED
        return ended or (away and state != _CANCELLED)

    def lacks_table(self, error: BaseException) -> bool:
        return getattr(error, "sqlstate", None) == _NO_TABLE

    def is_victim(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _VICTIM

    def is_untouched(self, connection: Connection) -> bool:
        if connection.dialect.driver != DRIVER:
            return False
        driver: Any = connection.connection.driver_connection
        return int(driver.info.transaction_status) == _IDLE

    def passes(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _PASSING


def _end_when_idle(seconds: int, driver: Any, _record: Any) -> None:
    driver.execute(f"SET idle_in_transaction_session_timeout = '{seconds}s'")
    driver.commit()


def _is_direct(connection: Connection) -> bool:
    """The driver is ours, and threads may ask it: an engine of the user's may have another."""
    return connection.dialect.driver == DRIVER and not connection.dialect.is_async
