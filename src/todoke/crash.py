"""Named places where a process may die, so that tests can make it die exactly there.

Off, a point costs one comparison. Armed by `TODOKE_CRASH=name:count` the process kills itself
with SIGKILL at the count-th passage; a simulator arms a function of its own instead, which may
raise `Died`: what is left of the process's code must then do nothing any more. An application may
`declare` points of its own.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from todoke.errors import InvalidOption

POINTS = (
    "publish.before_insert",
    "publish.after_insert",
    "enqueue.before_insert",
    "enqueue.after_insert",
    "unique.before_insert",
    "accept.before_insert",
    "accept.after_insert",
    "claim.before_commit",
    "claim.after_commit",
    "handler.before_start",
    "handler.after_started_mark",
    "handler.after_guard",
    "handler.after_call",
    "handler.before_commit",
    "handler.after_commit",
    "ledger.before_settle",
    "ledger.after_settle",
    "job.before_follower",
    "report.before_commit",
    "forget.before_commit",
    "chunk.before_commit",
    "chunk.after_commit",
    "settle.before_commit",
    "settle.after_commit",
    "stage.before_commit",
    "tick.before_commit",
    "tick.after_commit",
    "rescue.before_commit",
    "rescue.after_commit",
    "lease.after_renewal",
    "redrive.before_commit",
    "resolve.before_commit",
    "hold.before_commit",
    "hold.before_pass_on",
    "lanes.before_take",
    "lanes.before_give_back",
    "shutdown.before_hand_back",
    "retention.before_write",
    "retention.after_write",
    "retention.before_commit",
)

_armed: Callable[[str], None] | None = None
_declared: list[str] = []
_NAME = re.compile(r"[a-z][a-z0-9_-]*\.(before|after)_[a-z0-9_]+")


class Died(BaseException):
    """A simulated process ends here; its transactions are rolled back, nothing else is done."""


@contextmanager
def ending(end: Callable[[], object]) -> Iterator[None]:
    """Call this at the end, whatever has happened; but the dead tidy nothing up."""
    try:
        yield
    except Died:
        raise
    except BaseException:
        end()
        raise
    end()


def declare(*names: str) -> None:
    """Name points of an application's own, where it is imported: only known ones can be aimed at.

    Write `room.before_what` or `room.after_what`.
    """
    for name in names:
        if not _NAME.fullmatch(name) or name in POINTS:
            raise InvalidOption("crash.declare", name, "write room.before_what; and not todoke's.")
        if name not in _declared:
            _declared.append(name)


def points() -> tuple[str, ...]:
    """All that are known: todoke's, and those of the applications that are loaded."""
    return (*POINTS, *_declared)


def point(name: str) -> None:
    if _armed is not None:
        _armed(name)


def arm(passage: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Let `passage` be called at every point, or nothing; answers what was armed before."""
    global _armed
    before, _armed = _armed, passage
    return before


def arm_from_environment() -> None:
    wish = os.environ.get("TODOKE_CRASH")
    if not wish:
        return
    name, _, count = wish.partition(":")
    if name not in points():
        raise InvalidOption("TODOKE_CRASH", wish, f"the points are: {', '.join(points())}.")
    if count and not count.isdecimal():
        raise InvalidOption("TODOKE_CRASH", wish, "write name:count, such as claim.after_commit:3.")
    arm(_Killer(name, int(count or 1)))


class _Killer:
    def __init__(self, name: str, count: int) -> None:
        self._name, self._left = name, count

    def __call__(self, name: str) -> None:
        if name == self._name:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
