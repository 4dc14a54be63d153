"""From event to exact canonical text and back; JSON is read strictly.

Stored text is what was meant, byte for byte: keys sorted, no white space, no NaN, decimals as
strings. Reading refuses what Python's own reader lets pass: duplicate keys, NaN, deep nesting.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 32


class NotStrict(ValueError):
    """The text is no strict JSON; the message says why."""


def _canonical_encoder() -> Callable[[object], str]:
    encoder = json.JSONEncoder(
        ensure_ascii=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
        check_circular=False,  # too deep is refused anyway
    )
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    # Made once: `encode` makes its inner part anew for each text, which is half of its time.
    pieces = make(
        None,
        encoder.default,
        json.encoder.encode_basestring,
        None,
        encoder.key_separator,
        encoder.item_separator,
        encoder.sort_keys,
        encoder.skipkeys,
        encoder.allow_nan,
    )
    return lambda data: "".join(pieces(data, 0))


_canonical = _canonical_encoder()


def dump(data: object) -> str:
    """Canonical text; raises NotStrict for what strict JSON cannot carry."""
    try:
        text = _canonical(data)
        text.encode()
    except RecursionError:
        raise NotStrict(f"nested deeper than {MAX_DEPTH}") from None
    except (TypeError, ValueError) as error:
        raise NotStrict(str(error)) from error
    check_depth(text)
    return text


def load(text: str, *, max_bytes: int = MAX_BYTES) -> Any:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise NotStrict(f"{size:,} bytes, the limit is {max_bytes:,}")
    check_depth(text)
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
        # Refuses half characters, and numbers too large for Python, which are infinite here.
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except RecursionError:
        raise NotStrict(f"nested deeper than {MAX_DEPTH}") from None
    except ValueError as error:
        raise NotStrict(str(error)) from error
    return data


def load_object(text: str) -> dict[str, Any]:
    data = load(text)
    if not isinstance(data, dict):
        raise NotStrict(f"expected an object {{…}}, got {type(data).__name__}")
    return data


def dump_headers(headers: Mapping[str, str] | None) -> str | None:
    return dump(dict(headers)) if headers else None


def check_depth(text: str, limit: int = MAX_DEPTH) -> None:
    # Without looking into strings a bracket in text would count; so skip them.
    depth, inside, escaped = 0, False, False
    if text.count("[") + text.count("{") <= limit:
        return
    for character in text:
        if inside:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                inside = False
        elif character == '"':
            inside = True
        elif character in "[{":
            depth += 1
            if depth > limit:
                raise NotStrict(f"nested deeper than {limit}")
        elif character in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise NotStrict(f"key {twice!r} stands twice")
    return data


def _refuse(constant: str) -> NoReturn:
    raise NotStrict(f"{constant} is no JSON number")
