"""What every measured process does alike: it is told what to do, says when it is ready, counts.

Peers run in an environment of their own, so this needs nothing but the standard library.
"""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from time import monotonic_ns
from typing import Any, TypeAlias

Wish: TypeAlias = Mapping[str, Any]
Role: TypeAlias = Callable[[Wish], None]
CELLS, CELL = 2, 8  # how many were handled, and when the first was


def play(roles: Mapping[str, Role]) -> None:
    """`… ROLE '{"url": …}'`"""
    role, wish = sys.argv[-2:]
    roles[role](json.loads(wish))


def say(*words: object) -> None:
    print(*words, flush=True)


def wait_for_go() -> None:
    """All is imported and connected; from now on it counts."""
    say("ready")
    sys.stdin.readline()


def wait_for_the_end() -> None:
    sys.stdin.read()


def timed(publish: Callable[[], None]) -> None:
    """Says how many nanoseconds it took."""
    wait_for_go()
    started = monotonic_ns()
    publish()
    say(monotonic_ns() - started)


class Tally:
    """Counts what was handled where the measuring process can see it, without a word said."""

    def __init__(self, wish: Wish) -> None:
        with Path(wish["tally"]).open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)
        self._cells = memoryview(self._memory).cast("Q")
        self._count = wish["process"] * CELLS
        self._first = self._count + 1
        self._lock = Lock()

    def add(self, number: int = 1) -> None:
        cells = self._cells
        if not cells[self._first]:
            cells[self._first] = monotonic_ns()
        cells[self._count] += number

    def add_in_thread(self) -> None:
        with self._lock:
            self.add()
