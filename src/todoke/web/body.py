"""Reads a request's JSON strictly; what cannot be read is a problem that says why."""

from __future__ import annotations

from email.message import Message
from typing import Any

from todoke import codec
from todoke.web.answer import Answered, problem


def is_json(content_type: str | None) -> bool:
    said = _content_type(content_type)
    subtype = said.get_content_subtype()
    return said.get_content_maintype() == "application" and (
        subtype == "json" or subtype.endswith("+json")
    )


def read_json(body: bytes, content_type: str | None = None) -> Any:
    charset = _content_type(content_type).get_content_charset("utf-8")
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise malformed(f"JSON is UTF-8, not {charset[:40]}.")
    try:
        return codec.load(body.decode("utf-8"), max_bytes=len(body))
    except UnicodeDecodeError as error:
        raise malformed(f"byte {error.start} is no UTF-8.") from None
    except codec.NotStrict as error:
        raise malformed(f"{error}.") from None


def malformed(why: str) -> Answered:
    return Answered(problem("malformed-body", 400, f"The body is no strict JSON: {why}"))


def too_large(limit: int) -> Answered:
    return Answered(
        problem("body-too-large", 413, f"The body may have {limit:,} bytes. Send a smaller one.")
    )


def _content_type(said: str | None) -> Message:
    message = Message()
    message["content-type"] = said or "application/json"
    return message
