"""aiosqlite's connections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL

from todoke.databases.drivers.sqlite3 import address_of, commits_by_itself
from todoke.driver import AsyncDriver, OnUse, Parameters


class Aiosqlite(AsyncDriver):
    name = "an aiosqlite connection"
    dialect = "sqlite+aiosqlite"
    remedy = 'Begin one with `await conn.execute("BEGIN")`, or leave out `isolation_level=None`.'

    async def address(self, connection: Any) -> URL | None:
        # Its thread alone may ask it.
        found: URL = await connection._execute(address_of, connection._conn)
        return found

    async def commits_by_itself(self, connection: Any) -> bool:
        return bool(await connection._execute(commits_by_itself, connection._conn))

    async def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        async with connection.execute(statement, parameters):
            pass

    async def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        async with connection.executemany(statement, parameters):
            pass

    async def find(
        self, connection: Any, statement: str, parameters: Parameters
    ) -> Sequence[Any] | None:
        cursor = await connection.execute(statement, parameters)
        cursor._cursor.row_factory = None  # the user's rows may be of any kind
        async with cursor:
            found: Sequence[Any] | None = await cursor.fetchone()
            return found

    def watch(self, connection: Any, on_use: OnUse) -> None:
        # Every method hands its work to the connection's thread here.
        execute = connection._execute

        def watched(function: Any, *arguments: Any, **options: Any) -> Any:
            on_use(_rolls_back(function, arguments))
            return execute(function, *arguments, **options)

        connection._execute = watched

    def unwatch(self, connection: Any) -> None:
        del connection._execute  # what the class has comes to light again


def _rolls_back(function: Any, arguments: Sequence[Any]) -> bool:
    first = arguments[0] if arguments else None
    return getattr(function, "__name__", "") in ("rollback", "close") or (
        isinstance(first, str) and first.lstrip().upper().startswith("ROLLBACK")
    )
