"""Under which key something is asked for, and what: scope and digest."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import rfc8785
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from todoke.errors import InvalidKey, InvalidOption, Undigestible

LONGEST = 255
_NO_TEXT = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, half characters, line separators: no key is meant to hold them."""

_NO_JSON = "it holds half a character, a key that is no text, or an arbitrary object"
_WHY = {
    rfc8785.IntegerDomainError: "it holds a whole number beyond 2**53",
    rfc8785.FloatDomainError: "it holds a number that is none, or infinite",
    RecursionError: "it is nested too deeply",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose key it is, and for what: the same key of another caller is another one."""

    key: str
    tenant: str = ""
    caller: str = ""
    operation: str = ""

    def __post_init__(self) -> None:
        if why := _unfit(self.key):
            raise InvalidKey(why)
        for name in ("tenant", "caller", "operation"):
            value = getattr(self, name)
            if value != "" and (why := _unfit(value)):
                raise InvalidOption(f"ledger({name})", value, why)

    @property
    def id(self) -> UUID:
        """A hash: byte for byte, whatever a database thinks of case, accents and length."""
        parts = [self.tenant, self.caller, self.operation, self.key]
        # Each with its length: what one ends with must not be what the next begins with.
        told = "".join(f"{len(part)}:{part}" for part in parts)
        return UUID(bytes=sha256(told.encode()).digest()[:16])


def _unfit(value: object) -> str | None:
    if not isinstance(value, str):
        return f"it is {type(value).__name__}, and must be text."
    if not value.strip():
        return "it is empty."
    if len(value) > LONGEST:
        return f"it has {len(value)} characters, the limit is {LONGEST}."
    if value.isascii() and value.isprintable():
        return None
    if any(unicodedata.category(character) in _NO_TEXT for character in value):
        return "it holds a control character, or half a character."
    return None


def digest_of(request: Any) -> str:
    """SHA-256, in hex, over the canonical JSON (RFC 8785) of a request; of bytes as they are."""
    if isinstance(request, bytes | bytearray | memoryview):
        return sha256(request).hexdigest()
    try:
        return sha256(rfc8785.dumps(json_of(request))).hexdigest()
    except (rfc8785.CanonicalizationError, RecursionError) as error:
        # By its kind: what it says holds the value, which may be personal.
        raise Undigestible(type(request).__name__, _WHY.get(type(error), _NO_JSON)) from None


def json_of(value: Any) -> Any:
    """A model, or what models are made of, as JSON has it."""
    if not isinstance(value, BaseModel):
        return value
    try:
        return value.model_dump(mode="json")
    except (PydanticSerializationError, ValueError):
        raise Undigestible(type(value).__name__, _NO_JSON) from None
