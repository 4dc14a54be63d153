"""What the engine counts and says of itself; no personal data goes in."""

from __future__ import annotations

import logging
import re
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from todoke.fork import after_fork

log: logging.Logger = logging.getLogger("todoke")

_ADDRESS = re.compile(r"[\w.+-]{1,64}@([\w-]{1,63}(?:\.[\w-]{1,63})+)")

MOST_CODES = 100
"""So many error codes a process tells apart in its counters."""
OTHER_CODES = "OTHER"
"""What all further ones are counted as: a code that holds an order's number must not grow them."""


class Counts(Counter[str]):
    """Figures of one process: claimed, processed, retried, dead, fenced, rescued …"""


Counted: TypeAlias = Literal["enqueued", "sent", "failed", "aborted"]


Label: TypeAlias = tuple[Counted, str, str, str | None, str]
"""What messages that are counted together have in common: context, type, handler, error code.

A bare tuple, since thousands a second are made.
"""


class Tally:
    """Counts the messages of one process, by what they have in common."""

    def __init__(self) -> None:
        self._counts: Counter[Label] = Counter()
        self._codes: set[str] = set()
        self._lock = threading.Lock()
        after_fork(self, Tally.__init__)

    def add(self, labels: Iterable[Label] | Mapping[Label, int]) -> None:
        with self._lock:
            self._counts.update(labels)

    def code(self, code: str) -> str:
        """The code itself, as long as there are not too many."""
        if code not in self._codes:
            if len(self._codes) >= MOST_CODES:
                return OTHER_CODES
            self._codes.add(code)
        return code

    def read(self) -> dict[Label, int]:
        with self._lock:
            return dict(self._counts)


def masked(text: str) -> str:
    """Text without mail addresses, for logs and error messages; any database can keep it."""
    writable = text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
    return _ADDRESS.sub(r"***@\1", writable)
