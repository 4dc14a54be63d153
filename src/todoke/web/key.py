"""Finds the idempotency key in a request's header.

`Idempotency-Key: "8e03978e"` is a string of RFC 8941, as the IETF's draft has it. Most clients
leave the quotes out; both mean the same key.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from todoke.web.answer import Answer, Answered, problem

# RFC 8941: printable ASCII, in which only quote and backslash are escaped.
_STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_BARE = re.compile(r"[!#-~][ -~]*")
_ESCAPED = re.compile(r"\\(.)")


def key_in(values: Sequence[str], header: str) -> str | None:
    """The key that a header's values hold; None where there is no such header."""
    if not values:
        return None
    if len(values) > 1:
        raise Answered(
            invalid_key(f"The header {header} was sent {len(values)} times. Send it once.")
        )
    text = values[0].strip()
    if string := _STRING.fullmatch(text):
        return _ESCAPED.sub(r"\1", string[1])
    if _BARE.fullmatch(text):
        return text
    raise Answered(
        invalid_key(f'The header {header} must be printable ASCII: "a string", or the bare key.')
    )


def missing_key(where: str) -> Answer:
    return problem(
        "missing-key", 400, f"Send a key of your own in {where}, and the same one to ask again."
    )


def different_keys(header: str, field: str) -> Answer:
    return problem(
        "different-keys",
        400,
        f"The header {header} and the field {field} hold different keys. Send one of them.",
    )


def invalid_key(why: str) -> Answer:
    return problem("invalid-key", 400, why)
