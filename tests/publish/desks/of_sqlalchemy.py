"""SQLAlchemy's four."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.publish.desks.desk import Desk

ASYNC = {"sqlite": "sqlite+aiosqlite", "mariadb": "mariadb+aiomysql"}


class OfSession(Desk):
    waits_for_commit = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Session]:
        with Session(self.app.engine) as session, session.begin():
            yield session

    @asynccontextmanager
    async def savepoint(self, tx: Session) -> AsyncIterator[None]:
        with tx.begin_nested():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Session]:
        with Session(self.app.engine.execution_options(isolation_level="AUTOCOMMIT")) as session:
            yield session

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Session]:
        engine = create_engine(url)
        with Session(engine) as session, session.begin():
            yield session
        engine.dispose()

    async def execute(self, tx: Any, statement: str) -> None:
        tx.execute(text(statement))


class OfAsyncSession(Desk):
    waits_for_commit = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncSession]:
        async with AsyncSession(self.app.async_engine) as session, session.begin():
            yield session

    @asynccontextmanager
    async def savepoint(self, tx: AsyncSession) -> AsyncIterator[None]:
        async with tx.begin_nested():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[AsyncSession]:
        engine = self.app.async_engine.execution_options(isolation_level="AUTOCOMMIT")
        async with AsyncSession(engine) as session:
            yield session

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[AsyncSession]:
        engine = create_async_engine(async_url(url))
        async with AsyncSession(engine) as session, session.begin():
            yield session
        await engine.dispose()

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(text(statement))


class OfConnection(Desk):
    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        with self.app.engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        with tx.begin_nested():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        with self.app.engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        engine = create_engine(url)
        with engine.begin() as connection:
            yield connection
        engine.dispose()

    async def execute(self, tx: Any, statement: str) -> None:
        tx.execute(text(statement))


class OfAsyncConnection(Desk):
    is_async = True

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Any]:
        async with self.app.async_engine.begin() as connection:
            yield connection

    @asynccontextmanager
    async def savepoint(self, tx: Any) -> AsyncIterator[None]:
        async with tx.begin_nested():
            yield

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Any]:
        async with self.app.async_engine.connect() as connection:
            await connection.execution_options(isolation_level="AUTOCOMMIT")
            yield connection

    @asynccontextmanager
    async def elsewhere(self, url: str) -> AsyncIterator[Any]:
        engine = create_async_engine(async_url(url))
        async with engine.begin() as connection:
            yield connection
        await engine.dispose()

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(text(statement))


def async_url(url: str) -> str:
    parsed = make_url(url).difference_update_query(["ssl_disabled"])
    driver = ASYNC.get(parsed.get_backend_name(), parsed.drivername)
    return parsed.set(drivername=driver).render_as_string(hide_password=False)
