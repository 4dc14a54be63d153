"""Large work in pieces: each its own transaction, with a cursor that survives a crash.

The cursor is written in the transaction of its chunk, which first makes sure that the job is still
this attempt's; so a chunk is done once, whoever dies. A chunk is committed when the next is asked
for, or when the job ends well; an exception in the loop rolls the open one back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine, Integer, bindparam, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession
from sqlalchemy.orm import Session

from todoke import codec, crash
from todoke.database import UNIQUE_ID, Database
from todoke.errors import InvalidOption, LeaseLost
from todoke.jobs.making_way import MakingWay
from todoke.jobs.table import JobTables
from todoke.work.call import Call

if TYPE_CHECKING:
    from todoke.jobs.run import Run

T = TypeVar("T")


Fetch: TypeAlias = Callable[[Session, Any, int], Sequence[T]]
"""Rows behind the cursor, in its order, at most so many."""
FetchAsync: TypeAlias = Callable[[AsyncSession, Any, int], Awaitable[Sequence[T]]]
"""The same for an `async for`."""
Left: TypeAlias = Callable[[Session, Any], int]
"""How many rows there are behind the cursor."""
LeftAsync: TypeAlias = Callable[[AsyncSession, Any], Awaitable[int]]
"""The same for an `async for`."""


class Cursors:
    """Reads and writes how far a job has come."""

    def __init__(self, tables: JobTables, database: Database) -> None:
        live, cursors = tables.work.live, tables.cursors
        self._mine = (
            select(live.c.id)
            .where(
                live.c.id == bindparam("this_id"),
                live.c.owner == bindparam("this_owner", type_=UNIQUE_ID),
                live.c.attempt == bindparam("this_attempt", type_=Integer()),
            )
            .with_for_update()
        )
        this = (
            cursors.c.job_id == bindparam("of_job", type_=UNIQUE_ID),
            cursors.c.name == bindparam("of_name"),
        )
        self._read = select(cursors.c.cursor, cursors.c.processed).where(*this)
        self._forget = delete(cursors).where(*this)
        self._write = insert(cursors).values(updated_at=database.now)

    def read(self, connection: Connection, call: Call, name: str) -> tuple[Any, int]:
        """The cursor and how many were processed; refuses an attempt that is not the present."""
        guard = {"this_id": call.item.id, "this_owner": call.owner}
        found = connection.execute(self._mine, {**guard, "this_attempt": call.item.attempt})
        if found.first() is None:
            raise LeaseLost(call.handler.where, call.item.attempt)
        this = {"of_job": call.item.message_id, "of_name": name}
        row = connection.execute(self._read, this).first()
        return (None, 0) if row is None else (codec.load(row.cursor), row.processed)

    def write(
        self, connection: Connection, call: Call, name: str, cursor: object, processed: int
    ) -> None:
        try:
            text = codec.dump(cursor)
        except codec.NotStrict as error:
            raise InvalidOption(
                f"{call.handler.where} chunks(cursor)",
                type(cursor).__name__,
                f"{error}. A cursor is a number, a text, or a list of them.",
            ) from error
        this = {"of_job": call.item.message_id, "of_name": name}
        connection.execute(self._forget, this)
        values = {"job_id": call.item.message_id, "name": name, "cursor": text}
        connection.execute(self._write, {**values, "processed": processed})


class Chunking:
    """Makes the chunks of one process's jobs."""

    def __init__(
        self,
        cursors: Cursors,
        database: Database,
        engine: Callable[[], Engine],
        async_engine: Callable[[], AsyncEngine],
    ) -> None:
        self.cursors: Cursors = cursors
        self._database = database
        self.engine: Callable[[], Engine] = engine
        self.async_engine: Callable[[], AsyncEngine] = async_engine

    def making_way(self) -> MakingWay:
        return MakingWay(self._database.one_writer, self._database.clock.monotonic)

    def __call__(self, call: Call) -> Callable[..., Chunks[Any]]:
        def made(
            run: Run, fetch: Any, cursor: Callable[[T], object], size: int, name: str, left: Any
        ) -> Chunks[T]:
            if not isinstance(size, int) or size < 1:
                raise InvalidOption(f"{call.handler.where} chunks(size)", size, "at least 1.")
            return Chunks(self, call, run, fetch, cursor, size, name, left)

        return made


class Chunks(Generic[T]):
    """One loop: `for session, rows in run.chunks(…)`, or `async for`."""

    def __init__(
        self,
        chunking: Chunking,
        call: Call,
        run: Run,
        fetch: Any,
        cursor: Callable[[T], object],
        size: int,
        name: str,
        left: Any,
    ) -> None:
        self._chunking, self._call, self._run = chunking, call, run
        self._fetch, self._cursor, self._size, self._name = fetch, cursor, size, name
        self._left = left
        self._making_way = chunking.making_way()
        self._open: _Open | None = None
        self._done = 0
        run.loops.append(self)

    def __iter__(self) -> Iterator[tuple[Session, Sequence[T]]]:
        return self

    def __next__(self) -> tuple[Session, Sequence[T]]:
        self.end(commit=True)
        if pause := self._making_way.pause():
            time.sleep(pause)
        self._run.check()
        connection = self._chunking.engine().connect()
        self._open = _Open(connection, Session(connection, join_transaction_mode="rollback_only"))
        connection.begin()
        after = self._read(connection)
        if left := self._take_left():
            self._expect(left(self._open.session, after))
        rows = self._fetch(self._open.session, after, self._size)
        if not rows:
            self.end(commit=True)
            raise StopIteration
        self._open.rows = rows
        return self._open.session, rows

    def __aiter__(self) -> AsyncIterator[tuple[AsyncSession, Sequence[T]]]:
        return self

    async def __anext__(self) -> tuple[AsyncSession, Sequence[T]]:
        await self.end_async(commit=True)
        if pause := self._making_way.pause():
            await asyncio.sleep(pause)
        self._run.check()
        connection = await self._chunking.async_engine().connect()
        session = AsyncSession(connection, join_transaction_mode="rollback_only")
        self._open = _Open(connection, session)
        await connection.begin()
        after = await connection.run_sync(self._read)
        if left := self._take_left():
            self._expect(await left(session, after))
        rows = await self._fetch(session, after, self._size)
        if not rows:
            await self.end_async(commit=True)
            raise StopAsyncIteration
        self._open.rows = rows
        return session, rows

    def end(self, *, commit: bool) -> None:
        """End the open chunk, if there is one."""
        opened, self._open = self._open, None
        if opened is None:
            return
        connection: Connection = opened.connection
        try:
            if commit:
                opened.session.commit()
                self._note(connection, opened.rows)
                crash.point("chunk.before_commit")
                connection.commit()
        finally:
            opened.session.close()
            connection.close()
        self._tell(commit, opened.rows)

    async def end_async(self, *, commit: bool) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        try:
            if commit:
                await opened.session.commit()
                await opened.connection.run_sync(self._note, opened.rows)
                crash.point("chunk.before_commit")
                await opened.connection.commit()
        finally:
            await opened.session.close()
            await opened.connection.close()
        self._tell(commit, opened.rows)

    def _read(self, connection: Connection) -> Any:
        after, self._done = self._chunking.cursors.read(connection, self._call, self._name)
        self._run.told.progress(self._done, self._run.told.total)
        return after

    def _take_left(self) -> Any:
        """Who counts: asked once, with the first chunk."""
        left, self._left = self._left, None
        return left

    def _expect(self, left: int) -> None:
        # An attempt that died may have done some already.
        self._run.told.progress(self._done, self._done + left)

    def _note(self, connection: Connection, rows: Sequence[T]) -> None:
        if rows:
            done, last = self._done + len(rows), self._cursor(rows[-1])
            self._chunking.cursors.write(connection, self._call, self._name, last, done)

    def _tell(self, commit: bool, rows: Sequence[T]) -> None:
        if commit and rows:
            crash.point("chunk.after_commit")
            self._done += len(rows)
            self._run.told.progress(self._done, self._run.told.total)


class _Open:
    """A chunk that is not committed yet."""

    def __init__(self, connection: Any, session: Any) -> None:
        self.connection, self.session = connection, session
        self.rows: Sequence[Any] = ()
