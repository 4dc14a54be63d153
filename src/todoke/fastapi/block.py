"""A transaction that begins with a request's key and ends with the request's outcome.

    accept the key ── savepoint ── the endpoint's own work ─┬─ its answer is kept ── COMMIT
                                                            ├─ undone, a failure is kept ── COMMIT
                                                            └─ nothing is kept ── ROLLBACK

The order is written once, for plain Sessions; async code runs it by `AsyncSession.run_sync`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, SessionTransaction
from starlette.exceptions import HTTPException

from todoke.errors import BusinessError, TodokeError
from todoke.message import Event
from todoke.telemetry import log
from todoke.web.answer import Answer, Answered
from todoke.web.awaited import is_awaited
from todoke.web.failure import Refusal, is_kept, is_passing, refusal_of
from todoke.web.repeat import document_answer

if TYPE_CHECKING:
    from todoke.fastapi.once import Once


class Block:
    """`async with`, or `with` in a `def`: gives the session; commits at its end."""

    def __init__(self, once: Once, request: object) -> None:
        self._once, self._app, self._request = once, once.app, request
        self._savepoint: SessionTransaction
        self._open: tuple[ExitStack, Session]
        self._open_async: tuple[AsyncExitStack, AsyncSession]

    def __enter__(self) -> Session:
        with ExitStack() as stack:
            session = stack.enter_context(self._app.session())
            self._once.accept(session, self._request)
            self._save(session)
            self._open = (stack.pop_all(), session)
        return session

    async def __aenter__(self) -> AsyncSession:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(self._app.async_session())
            await self._once.accept(session, self._request)
            await session.run_sync(self._save)
            self._open_async = (stack.pop_all(), session)
        return session

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stack, session = self._open
        with stack:
            kept = self._end(session, error)
        _tell(kept, error)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stack, session = self._open_async
        async with stack:
            kept = await session.run_sync(self._end, error)
        _tell(kept, error)

    def _save(self, session: Session) -> None:
        self._savepoint = session.begin_nested()

    def _end(self, session: Session, error: BaseException | None) -> Answer | None:
        """Write the outcome; answers it where it is a failure. What is raised rolls all back."""
        if error is None:
            self._savepoint.commit()
            self._keep_answer(session)
            return None
        refusal = self._kept(error)
        if refusal is None:
            raise error
        self._savepoint.rollback()
        if isinstance(error, BusinessError) and isinstance(error.publish, Event):
            self._app.publish(session, error.publish)
        return self._keep(session, refusal)

    def _kept(self, error: BaseException) -> Refusal | None:
        if not isinstance(error, Exception) or isinstance(error, Answered):
            return None
        if is_passing(error, self._app.database):
            return None  # MariaDB has rolled the key back, too, where it was a deadlock
        refusal = _refusal_of(error)
        kept = refusal.status >= 400 and is_kept(refusal.status, self._app.settings)
        return refusal if kept else None

    def _keep_answer(self, session: Session) -> None:
        once, ledger = self._once, self._app.ledger
        if once.answered is not None:
            status, document = once.answered
            if status < 400:
                ledger.succeed(session, once.entry, document, status_code=status)
            else:
                self._keep(session, Refusal(status, f"HTTP_{status}", "", document))
        elif not is_awaited(self._app, session, once.entry):
            raise TodokeError(
                f"once.begin of key {once.key!r}: the block ended without an outcome, so every "
                "repeat would be told to wait, for ever. Call `once.answer(…)`, or publish the "
                "event that will settle it with `settles=once.entry`."
            )

    def _keep(self, session: Session, refusal: Refusal) -> Answer:
        self._app.ledger.fail(
            session,
            self._once.entry,
            refusal.code,
            refusal.message,
            response=refusal.document,
            status_code=refusal.status,
        )
        return document_answer(refusal.document, refusal.status)


def _refusal_of(error: Exception) -> Refusal:
    if isinstance(error, HTTPException):
        code = f"HTTP_{error.status_code}"
        return Refusal(error.status_code, code, str(error.detail), {"detail": error.detail})
    return refusal_of(error)


def _tell(kept: Answer | None, error: BaseException | None) -> None:
    if kept is None:
        return
    if kept.status >= 500:
        log.error("a request failed, and its key keeps that as the outcome", exc_info=error)
    raise Answered(kept) from error
