"""How hard the broker is pressed."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Traffic:
    """Counts requests, by key, and how many there were at once; since the process began."""

    def __init__(self) -> None:
        self._by_key: Counter[str] = Counter()
        self._at_once = 0
        self._most_at_once = 0

    @contextmanager
    def passing(self, key: str) -> Iterator[None]:
        self._by_key[key] += 1
        self._at_once += 1
        self._most_at_once = max(self._most_at_once, self._at_once)
        try:
            yield
        finally:
            self._at_once -= 1

    @property
    def told(self) -> dict[str, Any]:
        return {
            "requests": self._by_key.total(),
            "byKey": dict(self._by_key),
            "atOnce": self._at_once,
            "mostAtOnce": self._most_at_once,
        }
