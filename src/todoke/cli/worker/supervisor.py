"""Keeps worker processes running: starts them, starts them again, stops them in order.

Children are fresh interpreters, never forks, in sessions of their own: Ctrl-C reaches only the
supervisor, which passes it on once. A child that ends unasked is started again, after a pause
that grows while it keeps dying young; one that asks to be replaced is replaced at once; one that
refuses to work ends everything, since it would refuse again.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from todoke.cli.worker.tether import REFUSED, REPLACE, last_words
from todoke.telemetry import log

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
GROWN_UP = 60.0
"""Seconds after which a child's end is no early death any more."""

_KILLED = "Not all processes ended in time; what they held is returned when their lease runs out."


@dataclass(frozen=True, eq=False)
class Child:
    process: subprocess.Popen[bytes]
    tether: socket.socket
    began: float


@dataclass(eq=False)
class Place:
    """One of the places for a child: taken, or to be filled again at a time."""

    child: Child | None = None
    due: float | None = 0.0
    pause: float = SHORTEST_PAUSE


class Supervisor:
    """Fills its places until a signal or a refusal ends it."""

    def __init__(self, arguments: Sequence[str], places: int, patience: float) -> None:
        self._arguments, self._patience = arguments, patience
        self._places = [Place() for _ in range(places)]
        self._news: SimpleQueue[Place | None] = SimpleQueue()
        self._stopping = False
        self._give_up_at: float | None = None
        self._trouble: str | None = None

    def run(self) -> str | None:
        """Returns when all children have ended; answers what went wrong, if anything did."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._news.put(None))
        while not self._is_over:
            self._fill_due()
            self._kill_overdue()
            self._hear()
        return self._trouble

    @property
    def _is_over(self) -> bool:
        return self._stopping and not self._children

    @property
    def _children(self) -> list[Child]:
        return [place.child for place in self._places if place.child is not None]

    def _hear(self) -> None:
        """Wait for a signal or a child's end, or until there is something to do."""
        try:
            place = self._news.get(timeout=self._rest())
        except Empty:
            return
        if place is None:
            self._stop()
        else:
            self._ended(place)

    def _rest(self) -> float | None:
        times = [place.due for place in self._places if place.due is not None]
        times += [] if self._give_up_at is None else [self._give_up_at]
        return max(0.0, min(times) - time.monotonic()) if times else None

    # --- starting ----------------------------------------------------------------------------

    def _fill_due(self) -> None:
        for place in self._places:
            if place.due is not None and place.due <= time.monotonic():
                self._fill(place)

    def _fill(self, place: Place) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "todoke.cli.worker.child", *self._arguments]
        command += ["--number", str(self._places.index(place))]
        with theirs:
            process = subprocess.Popen(  # noqa: S603
                [*command, "--tether", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        place.child, place.due = Child(process, ours, time.monotonic()), None
        threading.Thread(target=self._await_end, args=(place, process), daemon=True).start()

    def _await_end(self, place: Place, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._news.put(place)

    # --- ending ------------------------------------------------------------------------------

    def _ended(self, place: Place) -> None:
        child, place.child = place.child, None
        assert child is not None  # noqa: S101
        code = child.process.returncode
        if code == REFUSED and self._trouble is None:
            self._trouble = last_words(child.tether) or "A worker process refused to work."
        child.tether.close()
        if self._stopping:
            return
        if code == REFUSED:
            self._stop()
        else:
            self._plan_another(place, child, code)

    def _plan_another(self, place: Place, child: Child, code: int) -> None:
        now = time.monotonic()
        if code == REPLACE:
            log.warning("process %d asked to be replaced", child.process.pid)
            place.due = now
            return
        if now - child.began >= GROWN_UP:
            place.pause = SHORTEST_PAUSE
        log.error(
            "process %d %s; another starts in %g s", child.process.pid, _end(code), place.pause
        )
        place.due = now + place.pause
        place.pause = min(2 * place.pause, LONGEST_PAUSE)

    def _stop(self) -> None:
        """The first time children drain; the second time they hurry."""
        if self._stopping:
            log.info("not waiting any longer: what still runs goes back")
            # Not the same again: a busy child that has not seen the first would take both for one.
            self._tell_children(signal.SIGINT)
            return
        self._stopping = True
        log.info("stopping: no new work, what runs may end; a second signal does not wait")
        self._give_up_at = time.monotonic() + self._patience
        for place in self._places:
            place.due = None
        self._tell_children(signal.SIGTERM)

    def _tell_children(self, number: signal.Signals) -> None:
        for child in self._children:
            child.process.send_signal(number)

    def _kill_overdue(self) -> None:
        if self._give_up_at is None or time.monotonic() < self._give_up_at:
            return
        self._give_up_at = None
        for child in self._children:
            log.error("process %d did not end in time: killed", child.process.pid)
            self._trouble = _KILLED
            child.process.kill()


def _end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"
