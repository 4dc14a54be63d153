"""A response of Django's as the ledger keeps it, and the answer that a repeat gets from it."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from django.http import HttpResponse

from todoke.operate import LedgerEntry
from todoke.web import repeat
from todoke.web.answer import Answer

_KEPT = ("Content-Type", "Location")
"""Cookies and the like belong to the one who asked first."""


def document_of(response: HttpResponse) -> dict[str, Any]:
    """Byte for byte: text where it is text."""
    headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
    try:
        return {"headers": headers, "text": response.content.decode()}
    except UnicodeDecodeError:
        return {"headers": headers, "base64": b64encode(response.content).decode()}


def stored_answer(entry: LedgerEntry) -> Answer:
    match entry.response:
        case {"headers": dict(headers), "text": str(text)}:
            return _answer(entry, headers, text.encode())
        case {"headers": dict(headers), "base64": str(text)}:
            return _answer(entry, headers, b64decode(text))
    return repeat.stored_answer(entry)


def response_of(answer: Answer) -> HttpResponse:
    return HttpResponse(
        answer.content,
        status=answer.status,
        content_type=answer.media_type,
        headers=dict(answer.headers),
    )


def _answer(entry: LedgerEntry, headers: dict[str, Any], content: bytes) -> Answer:
    others = {name: value for name, value in headers.items() if name != "Content-Type"}
    media_type = headers.get("Content-Type", "")
    return Answer(entry.status_code or 200, content, media_type, {**others, **repeat.REPLAYED})
