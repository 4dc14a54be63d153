"""SQLAlchemy's own connections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Connection, Engine, event
from sqlalchemy.ext.asyncio import AsyncConnection

from todoke.database import Database, safe_url, same_database
from todoke.driver import OnUse, Watching
from todoke.errors import NotAwaited, NotInTransaction, OtherDatabase
from todoke.handles.promise import Promise, Promised

R = TypeVar("R")


def check(database: Database, connection: Connection, engine: Engine, call: str) -> None:
    """Refuses one that leads elsewhere, or commits by itself."""
    theirs = connection.engine
    if theirs is not engine and not same_database(theirs.url, engine.url):
        raise OtherDatabase(call, safe_url(theirs.url), safe_url(engine.url))
    if database.is_autocommit(connection):
        raise NotInTransaction(
            call, "a connection", "Use one without isolation_level='AUTOCOMMIT'."
        )


def promised(
    connection: AsyncConnection, call: str, work: Callable[[Connection], R]
) -> Promised[R]:
    """What is to be called and awaited; until then the connection is watched."""
    promise = Promise(connection, call, _COMMITS)

    async def work_async() -> R:
        with promise.kept():
            return await connection.run_sync(work)

    return work_async


class _Commits(Watching):
    """Watches over the ends of AsyncConnections' transactions."""

    def __init__(self) -> None:
        self._on_use: WeakKeyDictionary[Connection, OnUse] = WeakKeyDictionary()
        self._heard: WeakSet[Engine] = WeakSet()

    def watch(self, connection: AsyncConnection, on_use: OnUse) -> None:
        plain = connection.sync_connection
        if plain is None:
            return  # not begun, which it will say itself
        if plain.engine not in self._heard:
            self._heard.add(plain.engine)
            for moment in ("commit", "prepare_twophase"):
                event.listen(plain.engine, moment, partial(self._before, False))
            event.listen(plain.engine, "rollback", partial(self._before, True))
        self._on_use[plain] = on_use

    def unwatch(self, connection: AsyncConnection) -> None:
        if connection.sync_connection is not None:
            self._on_use.pop(connection.sync_connection, None)

    def _before(self, rolls_back: bool, connection: Connection, *_details: object) -> None:
        on_use = self._on_use.get(connection)
        if on_use is None:
            return
        try:
            on_use(rolls_back)
        except NotAwaited:
            # To SQLAlchemy the transaction is over now; the next one must not find it open.
            connection.connection.rollback()
            on_use(True)
            raise


_COMMITS = _Commits()
