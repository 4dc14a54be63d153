"""Which failures of a request are its outcome, and which leave its key free for another try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnection

from todoke.database import Database
from todoke.errors import BusinessError
from todoke.settings import Settings
from todoke.web.answer import Answer, problem, problem_document

SOON = 1
"""Seconds after which a database that was not available is asked again."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A failure as the ledger keeps it."""

    status: int
    code: str
    message: str
    document: dict[str, Any]


def refusal_of(error: BaseException) -> Refusal:
    """What the caller is told of a failure that no web framework has words for."""
    if isinstance(error, BusinessError):
        document = problem_document("refused", 422, str(error), error.code)
        return Refusal(422, document["code"], str(error), document)
    # Of anything else the caller learns nothing: its text may hold what is nobody's business.
    told = "It went wrong inside, and will not be tried again under this key. Draw a new one."
    document = problem_document("failed", 500, told)
    return Refusal(500, document["code"], type(error).__name__, document)


def is_kept(status: int, settings: Settings) -> bool:
    """By `ledger.store`, an answer of this status is what every repeat gets."""
    match settings.stored_failures:
        case "all":
            return True
        case "success":
            return status < 400
        case _:
            return status < 500


def unavailable() -> Answer:
    return problem(
        "unavailable",
        503,
        "It is not known whether the request was taken. Ask again with the same key.",
        retry_after=SOON,
    )


def is_passing(error: BaseException, database: Database) -> bool:
    """A deadlock, a lost connection, or none to be had: it says nothing about the request."""
    return any(
        isinstance(one, NoConnection)
        or (isinstance(one, DBAPIError) and (database.passes(one) or database.is_lost(one)))
        for one in chain(error)
    )


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and what it was raised from or while handling."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
