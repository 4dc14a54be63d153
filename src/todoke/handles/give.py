"""Who writes rows into the transaction that is handed in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from todoke.bell import Bell, Hints
from todoke.database import Database
from todoke.driver import Driver, SyncDriver
from todoke.handles import connection, waiting
from todoke.handles.enqueued import Enqueued
from todoke.handles.promise import Promised
from todoke.handles.raw import RawConnections, known_driver
from todoke.work.row import Coming, Row
from todoke.work.table import WorkTable
from todoke.writing import Writing

Rows: TypeAlias = list[Row] | Coming


class Writer(Protocol):
    """Knows how rows of one work table are written."""

    table: WorkTable
    database: Database
    enqueued: Enqueued

    def write(self, connection: Connection, rows: Any) -> None:
        """On a SQLAlchemy Connection; rings after its commit."""
        ...

    def writing(self, rows: Any, copies: bool) -> Writing[Hints]:
        """The statements alone."""
        ...


class Handles:
    """Gives rows to a transaction: a Session keeps them until its commit, others write at once."""

    def __init__(self, writer: Writer, engine: Callable[[], Engine], bell: Callable[[], Bell]):
        self._writer, self._engine, self._bell = writer, engine, bell
        self._raw = RawConnections(writer.database, engine)

    def give(self, tx: Any, rows: Rows, call: str) -> Promised[object] | None:
        """What an async connection is to do is answered, to be called and awaited."""
        match tx:
            case scoped_session() | async_scoped_session():
                return self.give(tx(), rows, call)
            case AsyncSession():
                waiting.keep(self._writer, tx.sync_session, list(rows), self._engine(), call)
            case Session():
                waiting.keep(self._writer, tx, list(rows), self._engine(), call)
            case Connection():
                self._write(tx, rows, call)
            case AsyncConnection():
                return connection.promised(tx, call, partial(self._write, rows=rows, call=call))
            case PoolProxiedConnection():  # engine.raw_connection()
                return self._give_raw(tx.driver_connection, rows, call)
            case _:
                return self._give_raw(tx, rows, call)
        return None

    def _write(self, tx: Connection, rows: Rows, call: str) -> None:
        connection.check(self._writer.database, tx, self._engine(), call)
        self._writer.write(tx, rows)

    def _give_raw(self, tx: Any, rows: Rows, call: str) -> Promised[object] | None:
        driver = known_driver(tx, call)
        writing, after = partial(self._writer.writing, rows), partial(self._after, rows)
        if isinstance(driver, SyncDriver):
            self._raw.run(driver, tx, writing, call, after)
            return None
        return self._raw.promised(driver, tx, writing, call, after)

    def _after(self, rows: Rows, driver: Driver, connection: Any, hints: Hints) -> None:
        self._writer.enqueued.now(rows)
        if hints:
            driver.ring_when_over(connection, self._bell(), hints)
