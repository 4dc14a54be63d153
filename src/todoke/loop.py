"""Runs ticks for ever: the only place with threads that wait.

An agent is a function `tick(connection) -> seconds to rest`. The loop gives it a connection,
rests as long as it says or until woken, and outlives a database that goes away: it lets go of
the broken connection and tries again with growing, jittered pauses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import random

from sqlalchemy import Connection

from todoke.database import Database
from todoke.telemetry import log

Tick = Callable[[Connection], float]

_SOON = 0.05
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0


def breathe(seconds: float) -> None:
    """Let others have their turn."""
    if seconds > 0:
        threading.Event().wait(seconds)


class Loop:
    """One agent in one thread."""

    def __init__(
        self,
        name: str,
        tick: Tick,
        connect: Callable[[], Connection],
        database: Database,
    ) -> None:
        self.name: str = name
        self._tick, self._connect, self._database = tick, connect, database
        self._clock = clock = database.clock
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"todoke-{name}", daemon=True)
        self._failures = 0
        self.last_tick: float = clock.monotonic()

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        if not self._wake.is_set():
            self._wake.set()

    def stop(self) -> None:
        """Ask it to end after the present tick."""
        self._stopping.set()
        self._wake.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for its end; False when it did not come in time."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with self._connect() as connection:
                    self._tick_on(connection)
            except Exception as error:
                self._stumble(error)

    def _tick_on(self, connection: Connection) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            rest = self._tick_once(connection)
            self.last_tick = self._clock.monotonic()
            self._recover()
            if rest > 0:
                self._wake.wait(rest)

    def _tick_once(self, connection: Connection) -> float:
        try:
            return self._tick(connection)
        except Exception as error:
            # Somebody else was faster, or is writing just now: come again soon.
            if self._database.passes(error):
                return _SOON
            raise

    def _recover(self) -> None:
        if self._failures:
            log.warning("%s works again after %d failed tries", self.name, self._failures)
            self._failures = 0

    def _stumble(self, error: Exception) -> None:
        self._failures += 1
        if self._database.is_lost(error):
            # Once, not at every try: an outage must not fill the log.
            if self._failures == 1:
                log.error("%s cannot reach the database, will go on trying: %s", self.name, error)
        else:
            log.exception("%s failed and will go on", self.name)
        longest = min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2 ** min(self._failures - 1, 8))
        self._stopping.wait(longest * (0.5 + random() / 2))  # noqa: S311
