"""Running statements at once, in whatever transaction is handed in."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from sqlalchemy import Connection, Engine, PoolProxiedConnection, Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, scoped_session

from todoke.database import Database
from todoke.databases import schema
from todoke.driver import SyncDriver
from todoke.handles import connection, session
from todoke.handles.kinds import AsyncSessions, AwaitedTx, PlainTx
from todoke.handles.raw import RawConnections, known_driver
from todoke.writing import Writing, perform_on, run

P = ParamSpec("P")
R = TypeVar("R")

_AGAIN = 20
"""How often a transaction begins anew that a server took back before it held anything."""


class AtOnce:
    """Statements on one table; a sync handle gets the answer, an async one gets it awaited."""

    def __init__(self, table: Table, database: Database, engine: Callable[[], Engine]) -> None:
        self._table, self._database, self._engine = table, database, engine
        self._raw = RawConnections(database, engine)

    def run(self, handle: Any, make: Callable[[], Writing[R]], call: str) -> Any:
        plain = handle() if isinstance(handle, scoped_session | async_scoped_session) else handle
        match plain:
            case Session():
                return self._in_session(plain, make, call)
            case AsyncSession():
                return plain.run_sync(self._in_session, make, call)
            case Connection():
                return self._on(plain, make, call)
            case AsyncConnection():
                return connection.promised(plain, call, partial(self._on, make=make, call=call))()
            case PoolProxiedConnection():  # engine.raw_connection()
                return self._on_raw(plain.driver_connection, make, call)
        return self._on_raw(plain, make, call)

    def _in_session(self, handle: Session, make: Callable[[], Writing[R]], call: str) -> R:
        session.check(handle, self._table, self._engine(), call)
        return self._on(session.connection_of(handle, self._table), make, call)

    def _on(self, plain: Connection, make: Callable[[], Writing[R]], call: str) -> R:
        connection.check(self._database, plain, self._engine(), call)
        again = _AGAIN if self._database.is_untouched(plain) else 0
        with schema.needed(self._database):
            for _ in range(again):
                try:
                    return run(make(), perform_on(plain, None))
                except DBAPIError as error:
                    if not self._database.is_victim(error):
                        raise
                    # Below SQLAlchemy, whose transaction goes on: it is the user's, still empty.
                    plain.connection.rollback()
            return run(make(), perform_on(plain, None))

    def _on_raw(self, handle: Any, make: Callable[[], Writing[R]], call: str) -> Any:
        driver = known_driver(handle, call)
        if isinstance(driver, SyncDriver):
            return self._raw.run(driver, handle, _alike(make), call, _nothing_more)
        return self._raw.promised(driver, handle, _alike(make), call, _nothing_more)()


def _alike(make: Callable[[], Writing[R]]) -> Callable[[bool], Writing[R]]:
    """The same statements, whether or not the driver streams rows."""
    return lambda _copies: make()


def _nothing_more(*_found: object) -> None:
    pass


class Anywhere(Generic[P, R]):
    """A bound method that takes any kind of handle first."""

    def __init__(self, function: Callable[..., Writing[R]], owner: Any) -> None:
        self._function, self._owner = function, owner

    @overload
    def __call__(self, handle: PlainTx, /, *args: P.args, **kwargs: P.kwargs) -> R: ...
    @overload
    def __call__(
        self, handle: AsyncSessions | AwaitedTx, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, R]: ...
    def __call__(self, handle: Any, /, *args: Any, **kwargs: Any) -> Any:
        call = f"{type(self._owner).__name__.lower()}.{self._function.__name__}"
        make = partial(self._function, self._owner, *args, **kwargs)
        return self._owner.at_once.run(handle, make, call)


class AnywhereMethod(Generic[P, R]):
    def __init__(self, function: Callable[..., Writing[R]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object, owner: type | None = None) -> Anywhere[P, R]:
        return Anywhere(self._function, instance)


def anywhere(function: Callable[Concatenate[Any, P], Writing[R]]) -> AnywhereMethod[P, R]:
    """Let a method, made of statements, take a transaction of any kind; its owner has `at_once`."""
    return AnywhereMethod(function)
