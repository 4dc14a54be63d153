"""The four kinds of transaction an event can be published in, behind one face."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke import Event, Todoke


class Desk(ABC):
    """Opens transactions of one kind, and publishes in them as a user would."""

    def __init__(self, app: Todoke) -> None:
        self.app = app

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[Any]: ...

    @abstractmethod
    def savepoint(self, tx: Any) -> AbstractAsyncContextManager[Any]: ...

    @abstractmethod
    def autocommit(self) -> AbstractAsyncContextManager[Any]: ...

    async def publish(self, tx: Any, event: Event, **options: Any) -> Any:
        return self.app.publish(tx, event, **options)

    async def publish_all(self, tx: Any, events: Iterable[Event], **options: Any) -> Any:
        return self.app.publish_all(tx, events, **options)

    async def execute(self, tx: Any, statement: str) -> None:
        tx.execute(text(statement))


class OfSession(Desk):
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


class OfAsyncSession(Desk):
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


class OfAsyncConnection(Desk):
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

    async def publish(self, tx: Any, event: Event, **options: Any) -> Any:
        return await self.app.publish(tx, event, **options)

    async def publish_all(self, tx: Any, events: Iterable[Event], **options: Any) -> Any:
        return await self.app.publish_all(tx, events, **options)

    async def execute(self, tx: Any, statement: str) -> None:
        await tx.execute(text(statement))


KINDS = [OfSession, OfAsyncSession, OfConnection, OfAsyncConnection]
