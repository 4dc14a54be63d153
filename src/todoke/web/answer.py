"""What a request is answered with, in no framework's words; refusals are problems (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from todoke import codec

JSON, PROBLEM = "application/json", "application/problem+json"
_PREFIX = "urn:todoke:problem:"
_TITLES = {
    "missing-key": "No idempotency key was given",
    "invalid-key": "The idempotency key cannot be one",
    "different-keys": "Two different idempotency keys were given",
    "key-reused": "The idempotency key belongs to another request",
    "in-progress": "The request is still being worked on",
    "undigestible": "The request has no canonical form",
    "malformed-body": "The body cannot be read",
    "body-too-large": "The body is too large",
    "refused": "The request was refused",
    "failed": "The request failed",
    "unavailable": "The database is not available right now",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, body, headers."""

    status: int
    content: bytes
    media_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


class Answered(Exception):
    """The request is answered already, so that nothing below runs. Let it pass."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(f"{answer.status}: {answer.content.decode(errors='replace')}")
        self.answer: Answer = answer


def json_answer(
    document: Any,
    status: int = 200,
    media_type: str = JSON,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """The same document is the same bytes, whoever answers it."""
    return Answer(status, codec.dump(document).encode(), media_type, headers or {})


def problem(
    kind: str, status: int, detail: str, *, code: str | None = None, retry_after: int | None = None
) -> Answer:
    """Why a request is refused, and what its caller can do about it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return json_answer(problem_document(kind, status, detail, code), status, PROBLEM, headers)


def problem_document(
    kind: str, status: int, detail: str, code: str | None = None
) -> dict[str, Any]:
    return {
        "type": f"{_PREFIX}{kind}",
        "title": _TITLES[kind],
        "status": status,
        "detail": detail,
        "code": code or kind.upper().replace("-", "_"),
    }


def is_problem(document: Any) -> bool:
    return isinstance(document, dict) and str(document.get("type")).startswith(_PREFIX)
