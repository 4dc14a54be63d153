"""Waiting for something to become true, with an end to patience."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

_NEVER = threading.Event()


def until(condition: Callable[[], object], seconds: float = 10) -> None:
    """Return as soon as the condition holds; fail when it does not in time."""
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, f"not within {seconds} s"
        _NEVER.wait(0.01)
