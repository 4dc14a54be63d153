"""A request with its key: accepted once, in the endpoint's own transaction."""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, overload

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession, async_scoped_session
from starlette.responses import Response

from todoke.app import Todoke
from todoke.both import AsyncHandle, SyncHandle
from todoke.duration import Duration
from todoke.errors import InvalidKey, TodokeError, Undigestible
from todoke.fastapi.block import Block
from todoke.fastapi.response import response_of
from todoke.ledger.request import json_of
from todoke.operate import LedgerEntry
from todoke.web.answer import Answered, problem
from todoke.web.key import invalid_key
from todoke.web.repeat import Found, answer_to, document_answer


class Once:
    """What `Depends(idempotent(app))` gives an endpoint."""

    def __init__(
        self,
        app: Todoke,
        key: str,
        *,
        caller: str = "",
        tenant: str = "",
        operation: str = "",
        expires: Duration | None = None,
        place: Mapping[str, Any] | None = None,
    ) -> None:
        self.app: Todoke = app
        self.key: str = key
        self.caller: str = caller
        self.tenant: str = tenant
        self.operation: str = operation
        self._expires, self._place = expires, place
        self._entry: LedgerEntry | None = None
        self.answered: tuple[int, Any] | None = None
        """Status and document, once `answer` was called."""

    @property
    def entry(self) -> LedgerEntry:
        """What was accepted; for `app.publish(session, event, settles=once.entry)`."""
        if self._entry is None:
            raise TodokeError(f"once.entry of key {self.key!r}: call `once.accept` first.")
        return self._entry

    @overload
    def accept(self, handle: SyncHandle, request: object) -> LedgerEntry: ...
    @overload
    def accept(self, handle: AsyncHandle, request: object) -> Coroutine[Any, Any, LedgerEntry]: ...
    def accept(self, handle: Any, request: object) -> Any:
        """Take the key in this transaction; a repeat is answered, and nothing below runs.

        Let it be the first statement of the transaction: a repeat that comes meanwhile waits here.
        """
        if isinstance(handle, AsyncSession | AsyncConnection | async_scoped_session):
            return self._accept_async(handle, request)
        with _refusals():
            return self._new(self._ask(handle, request))

    async def _accept_async(self, handle: Any, request: object) -> LedgerEntry:
        with _refusals():
            return self._new(await self._ask(handle, request))

    def begin(self, request: object) -> Block:
        """`async with once.begin(order) as session:`, or `with` in a `def`: a whole transaction.

        The key is accepted first; what the block does is in a savepoint, so that a failure can be
        kept as the outcome without it. Say the outcome with `answer`, or publish what settles it.
        """
        return Block(self, request)

    def answer(self, response: object = None, *, status_code: int = 200) -> Response:
        """What this request and each repeat of it get; return it from the endpoint."""
        document = json_of(response)
        self.answered = (status_code, document)
        return response_of(document_answer(document, status_code))

    def _ask(self, handle: Any, request: object) -> Any:
        return self.app.ledger.accept(
            handle,
            self.key,
            self._placed(request),
            tenant=self.tenant,
            caller=self.caller,
            operation=self.operation,
            expires=self._expires,
        )

    def _placed(self, request: object) -> object:
        """The same body for another order, by its path or query, is another request."""
        if self._place is None:
            return request
        if isinstance(request, bytes | bytearray | memoryview):
            return {**self._place, "body": sha256(request).hexdigest()}
        return {**self._place, "body": json_of(request)}

    def _new(self, found: Found) -> LedgerEntry:
        if (answer := answer_to(found, self.app.settings)) is not None:
            raise Answered(answer)
        self._entry = found.entry
        return found.entry


@contextmanager
def _refusals() -> Iterator[None]:
    """What the caller can mend is told to the caller."""
    try:
        yield
    except InvalidKey as error:
        raise Answered(invalid_key(str(error))) from None
    except Undigestible as error:
        raise Answered(problem("undigestible", 422, str(error))) from None
