"""PostgreSQL: SKIP LOCKED, arrays, own schema."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import URL, BigInteger, Connection, Engine, bindparam, create_engine, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.sql import ColumnElement
from sqlalchemy.types import Float

from todoke.database import Database, Moment

# serialization_failure, deadlock_detected, lock_not_available
_PASSING = {"40001", "40P01", "55P03"}
# Classes: connection exception, insufficient resources, operator intervention, system error.
_AWAY = ("08", "53", "57", "58")
_CANCELLED = "57014"


class Postgres(Database):
    kind = "postgresql"

    def engine(self, url: URL, pool_size: int, patience: float = 30.0) -> Engine:
        # An engine of ours never depends on the server's default isolation level.
        return create_engine(
            url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",
            pool_size=pool_size,
            max_overflow=5,
            pool_pre_ping=True,  # after an outage the first to come would meet a dead connection
            connect_args={"connect_timeout": 5, "application_name": "todoke"},
        )

    def adopt(self, engine: Engine) -> Engine:
        return engine.execution_options(isolation_level="READ COMMITTED")

    def _now(self) -> ColumnElement[datetime]:
        return func.clock_timestamp(type_=Moment())

    def _after(self, parameter: str) -> ColumnElement[datetime]:
        wait = func.make_interval(0, 0, 0, 0, 0, 0, bindparam(parameter, type_=Float()))
        return func.clock_timestamp(type_=Moment()) + wait

    def among(self, column: ColumnElement[int], parameter: str) -> ColumnElement[bool]:
        return column == func.any(bindparam(parameter, type_=ARRAY(BigInteger)))

    def chosen(self, column: ColumnElement[int], subquery: Any) -> ColumnElement[bool]:
        # An array is computed once; IN may be planned as a join that locks more than it needs.
        return column == func.any(func.array(subquery.scalar_subquery()))

    def session_mark(self, connection: Connection) -> Any:
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
        return error.connection_invalidated or (away and state != _CANCELLED)

    def passes(self, error: BaseException) -> bool:
        return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _PASSING
