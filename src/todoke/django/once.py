"""One request with its key, from the accepting of the key to the keeping of the answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest, PermissionDenied, SuspiciousOperation
from django.core.handlers.exception import response_for_exception
from django.db import connections, transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError

from todoke.app import Todoke
from todoke.django.again import again
from todoke.django.faults import is_passing, passes
from todoke.django.project import alias_of, application
from todoke.django.stored_response import document_of, response_of, stored_answer
from todoke.errors import BusinessError, InvalidKey, InvalidOption
from todoke.message import Event
from todoke.operate import LedgerEntry
from todoke.telemetry import log
from todoke.web.answer import Answered
from todoke.web.awaited import is_awaited
from todoke.web.failure import is_kept, refusal_of, unavailable
from todoke.web.key import invalid_key
from todoke.web.repeat import answer_to, document_answer

# What Django itself answers with 400, 403 or 404.
_REFUSALS = (BadRequest, Http404, MultiPartParserError, PermissionDenied, SuspiciousOperation)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and under which key it is done once."""

    request: HttpRequest
    key: str
    caller: str
    tenant: str
    operation: str

    @property
    def content(self) -> bytes:
        """What a repeat has to repeat: path, query and body, byte for byte."""
        return self.request.get_full_path().encode() + b"\n" + self.request.body


@dataclass(frozen=True, slots=True)
class Once:
    """`request.once`, for a view that publishes with `settles=request.once.entry`."""

    key: str
    entry: LedgerEntry


def answer_once(asked: Asked, view: Callable[[], Any]) -> HttpResponse:
    """What the view answers, or what it has answered before; raises Answered for refusals."""
    doing = _Doing(asked, application())
    try:
        with doing.begin():  # commits, or rolls back what is raised
            return doing.perform(view)
    except Exception as error:
        if not is_passing(error, doing.app.database):
            raise
        log.warning("%s: answered with 503: %s", asked.request.path, type(error).__name__)
        raise Answered(unavailable()) from error


class _Doing:
    """The transaction in which a request is done."""

    def __init__(self, asked: Asked, app: Todoke) -> None:
        self.app = app
        self._asked = asked
        self._alias = _alias(app)
        self._connection = connections[self._alias]
        self._entry: LedgerEntry

    def begin(self) -> ExitStack:
        content, inside = self._asked.content, self._connection.in_atomic_block

        def is_worth_it(error: BaseException) -> bool:
            return not inside and passes(error, self.app.database)

        return again(lambda: self._begin(content), is_worth_it, self.app.random)

    def _begin(self, content: bytes) -> ExitStack:
        with ExitStack() as stack:
            stack.enter_context(transaction.atomic(using=self._alias))
            self._accept(content)
            return stack.pop_all()

    def _accept(self, content: bytes) -> None:
        asked = self._asked
        try:
            found = self.app.ledger.accept(
                self._connection,
                asked.key,
                content,
                tenant=asked.tenant,
                caller=asked.caller,
                operation=asked.operation,
            )
        except InvalidKey as error:
            raise Answered(invalid_key(str(error))) from None
        if (answer := answer_to(found, self.app.settings, stored_answer)) is not None:
            raise Answered(answer)
        self._entry = found.entry
        asked.request.once = Once(asked.key, found.entry)  # type: ignore[attr-defined]

    def perform(self, view: Callable[[], Any]) -> HttpResponse:
        try:
            with transaction.atomic(using=self._alias):
                response = self._whole(view())
                code = f"HTTP_{response.status_code}"
                if response.status_code >= 400:  # what is refused has had no effect
                    transaction.set_rollback(True, using=self._alias)
        except Exception as error:
            response, code = self._refused(error)
        if is_kept(response.status_code, self.app.settings):
            self._keep(response, code)
        else:
            transaction.set_rollback(True, using=self._alias)
        return response

    def _whole(self, response: Any) -> HttpResponse:
        if hasattr(response, "render") and callable(response.render):
            response = response.render()
        if not isinstance(response, HttpResponse):
            raise InvalidOption(
                self._asked.operation,
                type(response).__name__,
                "only a whole HttpResponse can be kept for repeats, not one that streams.",
            )
        return response

    def _refused(self, error: Exception) -> tuple[HttpResponse, str]:
        """An error as a response, and its code; raised again where it is to be no outcome."""
        if is_passing(error, self.app.database):
            raise error
        if isinstance(error, _REFUSALS):
            response = response_for_exception(self._asked.request, error)
            return response, f"HTTP_{response.status_code}"
        refusal = refusal_of(error)
        if not is_kept(refusal.status, self.app.settings):
            raise error
        if refusal.status >= 500:
            log.error("a request failed, and its key keeps that as the outcome", exc_info=error)
        if isinstance(error, BusinessError) and isinstance(error.publish, Event):
            self.app.publish(self._connection, error.publish)
        return response_of(document_answer(refusal.document, refusal.status)), refusal.code

    def _keep(self, response: HttpResponse, code: str) -> None:
        ledger, status = self.app.ledger, response.status_code
        if status >= 400:
            ledger.fail(
                self._connection,
                self._entry,
                code,
                response=document_of(response),
                status_code=status,
            )
        elif not is_awaited(self.app, self._connection, self._entry):
            ledger.succeed(self._connection, self._entry, document_of(response), status_code=status)


def _alias(app: Todoke) -> str:
    if (alias := alias_of(app)) is None:
        raise InvalidOption(
            "IdempotencyMiddleware",
            app.name,
            "its tables live in none of settings.DATABASES, so key and view could not commit as "
            "one. Write app = Todoke(connection).",
        )
    return alias
