"""asyncpg's connections, and those that its pool lends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

from sqlalchemy import URL

from todoke.bell import Happened
from todoke.driver import AsyncDriver, OnUse, Parameters

_RUNS = frozenset(
    {"query", "prepare", "bind_execute", "bind_execute_many", "execute", "copy_in", "copy_out"}
)


class Asyncpg(AsyncDriver):
    name = "an asyncpg connection"
    dialect = "postgresql+asyncpg"
    remedy = "Wrap the call in `async with conn.transaction():`."
    stays = True

    def own(self, connection: Any) -> Any:
        # A pool lends a proxy, which outlives the loan.
        return getattr(connection, "_con", connection)

    async def address(self, connection: Any) -> URL | None:
        place = connection._addr
        host, port = place if isinstance(place, tuple) else (str(place), None)
        return URL.create("postgresql", host=host, port=port, database=connection._params.database)

    async def commits_by_itself(self, connection: Any) -> bool:
        return not connection.is_in_transaction()

    def is_over(self, connection: Any) -> Happened | None:
        return _Over(ref(connection))

    async def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        await connection.execute(statement, *parameters)

    async def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        await connection.executemany(statement, parameters)

    async def find(
        self, connection: Any, statement: str, parameters: Parameters
    ) -> Sequence[Any] | None:
        found: Sequence[Any] | None = await connection.fetchrow(statement, *parameters)
        return found

    def watch(self, connection: Any, on_use: OnUse) -> None:
        connection._protocol = _Watched(connection._protocol, on_use)

    def unwatch(self, connection: Any) -> None:
        if isinstance(connection._protocol, _Watched):  # a closed connection has none any more
            connection._protocol = connection._protocol.behind


@dataclass(frozen=True)
class _Over:
    """Whether a transaction is; the same for all that is published in it."""

    connection: ref[Any]

    def __post_init__(self) -> None:
        hash(self.connection)  # later it may have none

    def __call__(self) -> bool:
        connection = self.connection()
        return connection is None or connection.is_closed() or not connection.is_in_transaction()


class _Watched:
    """Stands before the protocol, through which all statements go."""

    def __init__(self, protocol: Any, on_use: OnUse) -> None:
        self.behind, self._on_use = protocol, on_use

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.behind, name)
        if name not in _RUNS:
            return found

        def run(*arguments: Any, **options: Any) -> Any:
            self._on_use(_rolls_back(arguments))
            return found(*arguments, **options)

        return run


def _rolls_back(arguments: Sequence[Any]) -> bool:
    first = arguments[0] if arguments else None
    return isinstance(first, str) and first.lstrip().upper().startswith("ROLLBACK")
