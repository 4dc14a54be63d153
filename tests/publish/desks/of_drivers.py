"""Connections of the drivers themselves, used as their documentation shows."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Any

import aiosqlite
import asyncpg
import psycopg
import pymysql
from sqlalchemy import URL, make_url

from tests.publish.desks.desk import Desk


class OfPsycopg(Desk):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with psycopg.connect(**libpq(self.app.url)) as connection:
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        tx.execute("SELECT 1")  # the outermost block would be the transaction itself
        with tx.transaction():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with psycopg.connect(**libpq(self.app.url), autocommit=True) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        with psycopg.connect(**libpq(make_url(url))) as connection:
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        tx.execute(statement)


class OfPsycopgBlock(OfPsycopg):
    """In autocommit mode, where a block begins the transaction."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with (
            psycopg.connect(**libpq(self.app.url), autocommit=True) as connection,
            connection.transaction(),
        ):
            yield connection


class OfAsyncPsycopg(Desk):
    is_async = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        connection = await psycopg.AsyncConnection.connect(**libpq(self.app.url))
        try:
            async with connection:
                yield connection
        finally:
            await connection.close()  # psycopg itself closes none whose commit was refused

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        await tx.execute("SELECT 1")  # the outermost block would be the transaction itself
        async with tx.transaction():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        connecting = psycopg.AsyncConnection.connect(**libpq(self.app.url), autocommit=True)
        async with await connecting as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        async with await psycopg.AsyncConnection.connect(**libpq(make_url(url))) as connection:
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(statement)


class OfAsyncPsycopgBlock(OfAsyncPsycopg):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        connecting = psycopg.AsyncConnection.connect(**libpq(self.app.url), autocommit=True)
        async with await connecting as connection, connection.transaction():
            yield connection


class OfAsyncpg(Desk):
    is_async = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with self._connected(self.app.url) as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        async with tx.transaction():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        async with self._connected(self.app.url) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        async with self._connected(make_url(url)) as connection, connection.transaction():
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(statement)

    @asynccontextmanager
    async def _connected(self, url: URL) -> AsyncIterator[Any]:
        connection = await asyncpg.connect(**asyncpgs(url))
        try:
            yield connection
        finally:
            await connection.close()


class OfAsyncpgPool(OfAsyncpg):
    """A pool lends a proxy of the connection."""

    @asynccontextmanager
    async def _connected(self, url: URL) -> AsyncIterator[Any]:
        options = asyncpgs(url)
        async with (
            asyncpg.create_pool(**options, min_size=1, max_size=1) as pool,
            pool.acquire() as connection,
        ):
            yield connection


class OfSqlite3(Desk):
    """As `sqlite3.connect` gives it: the first change begins the transaction."""

    @contextmanager
    def _connected(self, url: URL, **options: Any) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(str(url.database), **options)) as connection:
            yield connection

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url) as connection, connection:
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        if not tx.in_transaction:
            tx.execute("BEGIN")  # or the end of the savepoint would be a commit
        name = f"s{id(object())}"
        tx.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            tx.execute(f"ROLLBACK TO {name}")
            raise
        finally:
            tx.execute(f"RELEASE {name}")

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, isolation_level=None) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        with self._connected(make_url(url)) as connection, connection:
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        tx.execute(statement)


class OfSqlite3Begun(OfSqlite3):
    """In the mode in which the caller begins and commits, with rows of another kind."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, isolation_level=None) as connection:
            connection.row_factory = lambda cursor, row: dict(
                zip([one[0] for one in cursor.description], row, strict=True)
            )
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection


class OfSqlite3Always(OfSqlite3):
    """From Python 3.12 on: a transaction is always open."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, autocommit=False) as connection, connection:
            yield connection

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, autocommit=True) as connection:
            yield connection


class OfAiosqlite(Desk):
    is_async = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with aiosqlite.connect(str(self.app.url.database)) as connection:
            yield connection
            await connection.commit()

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        if not tx.in_transaction:
            await tx.execute("BEGIN")
        name = f"s{id(object())}"
        await tx.execute(f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            await tx.execute(f"ROLLBACK TO {name}")
            raise
        finally:
            await tx.execute(f"RELEASE {name}")

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        file = str(self.app.url.database)
        async with aiosqlite.connect(file, isolation_level=None) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        async with aiosqlite.connect(str(make_url(url).database)) as connection:
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(statement)


class OfPyMySql(Desk):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url) as connection:
            yield connection
            connection.commit()

    @contextmanager
    def _connected(self, url: URL, **options: Any) -> Iterator[Any]:
        with closing(pymysql.connect(**mysqls(url), **options)) as connection:
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        name = f"s{id(object())}"
        await self.execute(tx, f"SAVEPOINT {name}")
        try:
            yield
        except BaseException:
            await self.execute(tx, f"ROLLBACK TO {name}")
            raise
        else:
            await self.execute(tx, f"RELEASE SAVEPOINT {name}")

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, autocommit=True) as connection:
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        with self._connected(make_url(url)) as connection:
            yield connection

    async def execute(self, tx: Any, statement: str) -> None:
        with tx.cursor() as cursor:
            cursor.execute(statement)


class OfPyMySqlBegun(OfPyMySql):
    """In autocommit mode, where the caller begins."""

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self._connected(self.app.url, autocommit=True) as connection:
            connection.begin()
            yield connection
            connection.commit()


def libpq(url: URL) -> dict[str, Any]:
    return {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}


def asyncpgs(url: URL) -> dict[str, Any]:
    return {"host": url.host, "port": url.port, "user": url.username, "database": url.database}


def mysqls(url: URL) -> dict[str, Any]:
    place = {"host": url.host, "port": url.port, "user": url.username, "database": url.database}
    return {**place, "charset": "utf8mb4", "ssl_disabled": True}
