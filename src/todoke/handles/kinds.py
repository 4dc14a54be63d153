"""What a transaction may be handed in as."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session


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


PlainTx: TypeAlias = Session | scoped_session[Any] | Connection | RawConnection
"""Answers at once."""
AsyncSessions: TypeAlias = AsyncSession | async_scoped_session[Any]
AwaitedTx: TypeAlias = AsyncConnection | AsyncRawConnection | AsyncpgConnection

SyncTx: TypeAlias = PlainTx | AsyncSessions
"""For what a session keeps until its commit: nothing is awaited."""
AsyncTx: TypeAlias = AwaitedTx
