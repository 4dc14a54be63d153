"""What a repeated request is answered, from what the ledger found under its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from todoke.operate import Accepted, Conflict, InProgress, LedgerEntry, Replay
from todoke.settings import Settings
from todoke.web.answer import JSON, PROBLEM, Answer, is_problem, json_answer, problem

REPLAYED = {"Idempotency-Replayed": "true"}
_BODILESS = (204, 205, 304)
_DRAFT = 422
"""What `ledger.conflict_status` is for who follows the IETF's draft."""

Found: TypeAlias = Accepted | Replay | InProgress | Conflict


def outcome_of(entry: LedgerEntry) -> dict[str, Any]:
    """What became of a request, as the document that its caller may see."""
    error = None
    if entry.state == "failed":
        error = {"code": entry.error_code, "message": entry.error_message}
    return {
        "key": entry.key,
        "status": entry.state,
        "result": entry.response,
        "error": error,
        "acceptedAt": _moment(entry.accepted_at),
        "settledAt": _moment(entry.settled_at),
    }


def stored_answer(entry: LedgerEntry) -> Answer:
    """As it was first answered; where it was not answered at once, its outcome."""
    if entry.status_code is None:
        return json_answer(outcome_of(entry), headers=REPLAYED)
    return replace(document_answer(entry.response, entry.status_code), headers=REPLAYED)


def document_answer(document: Any, status: int) -> Answer:
    """A document with the media type that it shows to be; where none is allowed, no document."""
    if status in _BODILESS:
        return Answer(status, b"")
    return json_answer(document, status, PROBLEM if is_problem(document) else JSON)


def answer_to(
    found: Found,
    settings: Settings,
    stored: Callable[[LedgerEntry], Answer] = stored_answer,
) -> Answer | None:
    """None where the request is new."""
    match found:
        case Accepted():
            return None
        case Replay(entry):
            return stored(entry)
        case InProgress(entry, retry_after):
            return _still_working(entry, retry_after, settings)
        case Conflict():
            return _conflict(settings)


def _still_working(entry: LedgerEntry, retry_after: int, settings: Settings) -> Answer:
    if settings.conflict_status == _DRAFT:
        return problem(
            "in-progress",
            409,
            f"Ask again in {retry_after} s, with the same key.",
            retry_after=retry_after,
        )
    return json_answer(outcome_of(entry), headers={"Retry-After": str(retry_after)})


def _conflict(settings: Settings) -> Answer:
    # Nothing of the first request is told: it may be somebody else's.
    return problem(
        "key-reused",
        settings.conflict_status,
        "This key was used for a request with other content. Draw a new key for a new request.",
    )


def _moment(when: datetime | None) -> str | None:
    return None if when is None else when.isoformat().replace("+00:00", "Z")
