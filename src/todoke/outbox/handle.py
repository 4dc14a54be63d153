"""What a transaction may be handed in as, and who writes into it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from todoke.bell import Bell
from todoke.databases.drivers import NAMES, driver_of
from todoke.driver import SyncDriver
from todoke.errors import TodokeError
from todoke.outbox import connection, session
from todoke.outbox.publish import Outbox
from todoke.outbox.raw import RawConnections
from todoke.outbox.row import Row


class RawConnection(Protocol):
    """A driver's own connection: psycopg, sqlite3, PyMySQL; or Django's."""

    def cursor(self) -> Any: ...
    def commit(self) -> None: ...


class AsyncRawConnection(Protocol):
    """The same of an async driver: psycopg, aiosqlite."""

    def cursor(self) -> Any: ...
    def commit(self) -> Coroutine[Any, Any, None]: ...


class AsyncpgConnection(Protocol):
    """asyncpg's, or one that its pool lends."""

    def is_in_transaction(self) -> bool: ...
    def executemany(self, command: str, args: Iterable[Any]) -> Coroutine[Any, Any, None]: ...


SyncTx: TypeAlias = (
    Session
    | AsyncSession
    | scoped_session[Any]
    | async_scoped_session[Any]
    | Connection
    | RawConnection
)
AsyncTx: TypeAlias = AsyncConnection | AsyncRawConnection | AsyncpgConnection


class Handles:
    """Gives rows to a transaction: a Session keeps them until its commit, others write at once."""

    def __init__(self, outbox: Outbox, engine: Callable[[], Engine], bell: Callable[[], Bell]):
        self._outbox, self._engine = outbox, engine
        self._raw = RawConnections(outbox, engine, bell)

    def give(self, tx: Any, rows: list[Row], call: str) -> connection.Write | None:
        """What an async connection is to do is answered, to be called and awaited."""
        outbox, engine = self._outbox, self._engine()
        match tx:
            case scoped_session() | async_scoped_session():
                return self.give(tx(), rows, call)
            case AsyncSession():
                session.keep(outbox, tx.sync_session, rows, engine, call)
            case Session():
                session.keep(outbox, tx, rows, engine, call)
            case Connection():
                connection.write(tx, outbox, rows, engine, call)
            case AsyncConnection():
                return connection.promised(tx, outbox, rows, engine, call)
            case PoolProxiedConnection():  # engine.raw_connection()
                return self._give_raw(tx.driver_connection, rows, call)
            case _:
                return self._give_raw(tx, rows, call)
        return None

    def _give_raw(self, tx: Any, rows: list[Row], call: str) -> connection.Write | None:
        driver = driver_of(tx)
        if driver is None:
            raise TodokeError(
                f"{call} got {type(tx).__name__}. Pass the transaction your change is made in: a "
                "SQLAlchemy Session, AsyncSession, Connection or AsyncConnection, or a connection "
                f"of {', '.join(NAMES)}."
            )
        if isinstance(driver, SyncDriver):
            self._raw.write(driver, tx, rows, call)
            return None
        return self._raw.promised(driver, tx, rows, call)
