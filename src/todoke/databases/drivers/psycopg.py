"""psycopg's connections, sync and async."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import ref

from psycopg import AsyncCursor, Cursor
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row
from sqlalchemy import URL, make_url

from todoke.bell import Happened
from todoke.databases.postgres_copy import prepared, send, send_async
from todoke.driver import AsyncDriver, Copies, OnUse, Parameters, SyncDriver
from todoke.writing import Copy

_UNDER_WAY = (TransactionStatus.ACTIVE, TransactionStatus.INTRANS)
_DIALECT = make_url("postgresql+psycopg://").get_dialect()()


# Cursors are made by hand: those of the user's connection may have another way of writing
# parameters, or of making rows.
class Psycopg(Copies, SyncDriver):
    name = "a psycopg connection"
    dialect = "postgresql+psycopg"
    remedy = "Wrap the call in `with conn.transaction():`."
    stays = True

    def address(self, connection: Any) -> URL | None:
        return _address(connection)

    def commits_by_itself(self, connection: Any) -> bool:
        return _commits_by_itself(connection)

    def is_over(self, connection: Any) -> Happened | None:
        return _Over(ref(connection.pgconn))

    def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        with Cursor(connection) as cursor:
            cursor.execute(statement, parameters)

    def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        with Cursor(connection) as cursor:
            cursor.executemany(statement, parameters)

    def ask(self, connection: Any, statement: str, parameters: Parameters) -> Any:
        with Cursor(connection, row_factory=tuple_row) as cursor:
            (found,) = cursor.execute(statement, parameters).fetchall()[0]
            return found

    def find(self, connection: Any, statement: str, parameters: Parameters) -> Sequence[Any] | None:
        with Cursor(connection, row_factory=tuple_row) as cursor:
            return cursor.execute(statement, parameters).fetchone()

    def copy(self, connection: Any, rows: Copy) -> None:
        send(connection, prepared(rows, _DIALECT, connection.info.encoding))


class AsyncPsycopg(Copies, AsyncDriver):
    name = "an async psycopg connection"
    dialect = "postgresql+psycopg"
    remedy = "Wrap the call in `async with conn.transaction():`."
    stays = True

    async def address(self, connection: Any) -> URL | None:
        return _address(connection)

    async def commits_by_itself(self, connection: Any) -> bool:
        return _commits_by_itself(connection)

    def is_over(self, connection: Any) -> Happened | None:
        return _Over(ref(connection.pgconn))

    async def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        async with AsyncCursor(connection) as cursor:
            await cursor.execute(statement, parameters)

    async def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        async with AsyncCursor(connection) as cursor:
            await cursor.executemany(statement, parameters)

    async def ask(self, connection: Any, statement: str, parameters: Parameters) -> Any:
        async with AsyncCursor(connection, row_factory=tuple_row) as cursor:
            await cursor.execute(statement, parameters)
            (found,) = (await cursor.fetchall())[0]
            return found

    async def find(
        self, connection: Any, statement: str, parameters: Parameters
    ) -> Sequence[Any] | None:
        async with AsyncCursor(connection, row_factory=tuple_row) as cursor:
            await cursor.execute(statement, parameters)
            return await cursor.fetchone()

    async def copy(self, connection: Any, rows: Copy) -> None:
        await send_async(connection, prepared(rows, _DIALECT, connection.info.encoding))

    def watch(self, connection: Any, on_use: OnUse) -> None:
        # All that is done with the connection passes here, whichever object it is done with.
        wait = connection.wait

        async def watched(doing: Any, *arguments: Any, **options: Any) -> Any:
            block = _ending_block(doing)
            try:
                on_use(_rolls_back(doing, block))
            except Exception as refusal:
                doing.close()
                if block is not None:  # its end is a rollback now, or it would stay open
                    on_use(True)
                    await wait(block._exit_gen(type(refusal), refusal, None))
                raise
            return await wait(doing, *arguments, **options)

        connection.wait = watched

    def unwatch(self, connection: Any) -> None:
        del connection.wait  # what the class has comes to light again


def _address(connection: Any) -> URL:
    info = connection.info
    return URL.create("postgresql", host=info.host, port=info.port, database=info.dbname)


def _commits_by_itself(connection: Any) -> bool:
    # `with conn.transaction()` begins one in autocommit mode, too.
    status = connection.info.transaction_status
    return bool(connection.autocommit) and status == TransactionStatus.IDLE


@dataclass(frozen=True)
class _Over:
    """Whether a transaction is; the same for all that is published in it."""

    link: ref[Any]

    def __post_init__(self) -> None:
        hash(self.link)  # later it may have none

    def __call__(self) -> bool:
        link = self.link()
        return link is None or link.transaction_status not in _UNDER_WAY


def _ending_block(doing: Any) -> Any:
    """The `conn.transaction()` whose end this is."""
    return doing.gi_frame.f_locals["self"] if doing.__name__ == "_exit_gen" else None


def _rolls_back(doing: Any, block: Any) -> bool:
    """The connection's own rollback, or the end of a block by an exception."""
    if block is None:
        return bool(doing.__name__ == "_rollback_gen")
    return bool(block.force_rollback) or doing.gi_frame.f_locals["exc_val"] is not None
