"""Hints: where something new is, in one word: `event:17:ordering/default`.

Of ordered work a hint names the lane, so that only the worker who has it need look, and only there.
"""

from __future__ import annotations

import re

FREE = "free"
"""Keeps no order: everybody may take it."""
ORDERED = "ordered"
"""Somewhere in the lanes: said where there are too many to name them."""

_HINT = re.compile(rf"[^:]+:({FREE}|{ORDERED}|[0-9]{{1,3}}):[^/]+/.+")


def hint_of(source: str, stream: str, lane: int) -> str:
    return f"{source}:{lane if lane >= 0 else FREE}:{stream}"


def parts_of(hint: str) -> tuple[str, str, str]:
    """Source, place and stream."""
    source, place, stream = hint.split(":", 2)
    return source, place, stream


def is_hint(text: str) -> bool:
    """It names a place, and a stream, which is at least a context and a queue."""
    return _HINT.fullmatch(text) is not None


def without_lane(hint: str) -> str:
    source, place, stream = parts_of(hint)
    return hint if place == FREE else f"{source}:{ORDERED}:{stream}"
