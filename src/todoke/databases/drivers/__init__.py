"""Drivers whose own connections can be published on.

Each is known by the class of its connections, so that none has to be installed or imported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import TypeAlias

from todoke.driver import AsyncDriver, SyncDriver

AnyDriver: TypeAlias = SyncDriver | AsyncDriver

_OURS = "todoke.databases.drivers"
_KNOWN = {
    "psycopg.Connection": f"{_OURS}.psycopg:Psycopg",
    "psycopg.AsyncConnection": f"{_OURS}.psycopg:AsyncPsycopg",
    "asyncpg.Connection": f"{_OURS}.asyncpg:Asyncpg",
    "asyncpg.PoolConnectionProxy": f"{_OURS}.asyncpg:Asyncpg",
    "sqlite3.Connection": f"{_OURS}.sqlite3:Sqlite3",
    "aiosqlite.Connection": f"{_OURS}.aiosqlite:Aiosqlite",
    "pymysql.Connection": f"{_OURS}.pymysql:PyMySql",
    "django.BaseDatabaseWrapper": f"{_OURS}.django:Django",
    "django.ConnectionProxy": f"{_OURS}.django:Django",
}
NAMES = (
    "psycopg (sync and async)",
    "asyncpg",
    "sqlite3",
    "aiosqlite",
    "PyMySQL",
    "Django",
)


def driver_of(connection: object) -> AnyDriver | None:
    """Whose connection it is; None where nobody knows it."""
    kind: type = type(connection)
    return _driver_of(kind, getattr(connection, "vendor", None))


@cache
def _driver_of(kind: type, vendor: str | None) -> AnyDriver | None:
    for one in kind.__mro__:
        known = _KNOWN.get(f"{one.__module__.partition('.')[0]}.{one.__name__}")
        if known is not None:
            made = _load(known)
            # Django's connections are alike, whatever database is behind them.
            return made() if vendor is None else made(vendor)
    return None


def _load(known: str) -> Callable[..., AnyDriver]:
    module, _, name = known.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]
