"""Who writes rows into the transaction that is handed in."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, PoolProxiedConnection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from todoke.bell import Bell, Hints
from todoke.driver import Driver, SyncDriver
from todoke.handles import connection
from todoke.handles.promise import Promised
from todoke.handles.raw import RawConnections, known_driver
from todoke.outbox import session
from todoke.outbox.publish import Outbox
from todoke.outbox.row import Row


class Handles:
    """Gives rows to a transaction: a Session keeps them until its commit, others write at once."""

    def __init__(self, outbox: Outbox, engine: Callable[[], Engine], bell: Callable[[], Bell]):
        self._outbox, self._engine, self._bell = outbox, engine, bell
        self._raw = RawConnections(outbox.database, engine)

    def give(self, tx: Any, rows: list[Row], call: str) -> Promised[object] | None:
        """What an async connection is to do is answered, to be called and awaited."""
        match tx:
            case scoped_session() | async_scoped_session():
                return self.give(tx(), rows, call)
            case AsyncSession():
                session.keep(self._outbox, tx.sync_session, rows, self._engine(), call)
            case Session():
                session.keep(self._outbox, tx, rows, self._engine(), call)
            case Connection():
                self._write(tx, rows, call)
            case AsyncConnection():
                return connection.promised(tx, call, partial(self._write, rows=rows, call=call))
            case PoolProxiedConnection():  # engine.raw_connection()
                return self._give_raw(tx.driver_connection, rows, call)
            case _:
                return self._give_raw(tx, rows, call)
        return None

    def _write(self, tx: Connection, rows: list[Row], call: str) -> None:
        connection.check(self._outbox.database, tx, self._engine(), call)
        self._outbox.write(tx, rows)

    def _give_raw(self, tx: Any, rows: list[Row], call: str) -> Promised[object] | None:
        driver = known_driver(tx, call)
        writing, after = partial(self._outbox.writing, rows), partial(self._after, rows)
        if isinstance(driver, SyncDriver):
            self._raw.run(driver, tx, writing, call, after)
            return None
        return self._raw.promised(driver, tx, writing, call, after)

    def _after(self, rows: list[Row], driver: Driver, connection: Any, hints: Hints) -> None:
        self._outbox.enqueued.now(rows)
        if hints:
            driver.ring_when_over(connection, self._bell(), hints)
