"""Asking again what lost a deadlock, in a session that is not ours, where that loses nothing.

On MariaDB callers that wait for one key may kill each other when the first is rolled back. A server
takes the whole transaction back then, and that is empty if the key is the first that it heard of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction

from todoke.app import Todoke
from todoke.web.again import again, again_async

R = TypeVar("R")
Ask = Callable[[Session], R]


def asked_again(app: Todoke, session: Session, ask: Ask[R]) -> R:
    with _first(app, session) as first:
        return again(lambda: first.ask(session, ask), first.passes, app.random)


async def asked_again_async(app: Todoke, session: AsyncSession, ask: Ask[R]) -> R:
    with _first(app, session.sync_session) as first:
        return await again_async(lambda: session.run_sync(first.ask, ask), first.passes, app.random)


class _First:
    """Whether the session's transaction has begun under our eyes."""

    def __init__(self, app: Todoke) -> None:
        self._database, self._table = app.database, app.ledger.table
        self._has_begun_here = False

    def note(self, session: Session, begun: SessionTransaction, connection: Connection) -> None:
        # A savepoint, or a connection that was handed to the session, may have a past.
        bind = session.get_bind(clause=self._table)
        is_whole = begun.parent is None and not session.in_nested_transaction()
        self._has_begun_here |= is_whole and isinstance(bind, Engine)

    def passes(self, error: BaseException) -> bool:
        # The one writer of SQLite is waited for where the transaction begins; there is no deadlock.
        is_server = not self._database.one_writer
        return is_server and self._has_begun_here and self._database.passes(error)

    def ask(self, session: Session, ask: Ask[R]) -> R:
        try:
            return ask(session)
        except DBAPIError as error:
            if self.passes(error):
                # Below SQLAlchemy, whose transaction goes on: it is the user's, and still empty.
                session.connection().connection.rollback()
            raise


@contextmanager
def _first(app: Todoke, session: Session) -> Iterator[_First]:
    first = _First(app)
    event.listen(session, "after_begin", first.note)
    try:
        yield first
    finally:
        event.remove(session, "after_begin", first.note)
