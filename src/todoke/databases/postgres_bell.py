"""PostgreSQL's bell: NOTIFY after the commit, from a connection of its own.

A NOTIFY inside the caller's transaction makes commits queue up behind one lock of the whole
server. Here one thread per process rings for all of them: at once, and while they come fast, at
most once in `gap` seconds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection
from time import monotonic, sleep
from typing import Any, TypeAlias

import psycopg
from psycopg.pq import Escaping, ExecStatus
from sqlalchemy import URL

from todoke.bell import EVERYWHERE, Happened, Hints, pack
from todoke.fork import after_fork
from todoke.telemetry import log

Connect: TypeAlias = Callable[[], psycopg.Connection[Any]]

GAP = 0.02
_FAST, _BRISK, _WITHIN = 20, 10, 0.1
"""So many within so many seconds are fast: a NOTIFY or a claim for each would slow them down."""
_SHORTEST_LOOK, _LONGEST_LOOK, _SHARE = 0.0001, 0.02, 0.1
"""How often to see whether a commit is over: the longer it has taken, the more rarely.

SQLAlchemy tells just before a commit, which is quick. A driver tells nothing, so its transactions
are looked at from the INSERT on, and may stay open for long.
"""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_IDLE = 60.0
"""A connection that nobody rings through is given back after so long."""
_PATIENCE, _LAST_PATIENCE = 60.0, 1.0
"""A commit that takes longer is not waited for: the worker will find its rows by polling."""


def connector(url: URL, name: str) -> Connect:
    """Opens autocommit connections that notice a dead peer, and that a pooler can serve."""
    address = url.set(drivername="postgresql+psycopg")
    positional, named = address.get_dialect()().create_connect_args(address)
    options: dict[str, Any] = {
        "connect_timeout": 5,
        "application_name": name,
        "keepalives": 1,
        "keepalives_idle": 15,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
        **named,
        "autocommit": True,
        "prepare_threshold": None,  # PgBouncer before 1.21 loses prepared statements
    }
    return lambda: psycopg.connect(*positional, **options)


def channel_of(schema: str | None, prefix: str) -> str:
    """Installations that share a database do not wake each other."""
    name = f"todoke:{schema or prefix}"
    return name.encode()[:63].decode(errors="ignore")


class Haste:
    """Whether things come so fast that doing something for each of them costs too much."""

    def __init__(self) -> None:
        self._moments: deque[float] = deque(maxlen=_FAST)

    def note(self, now: float) -> None:
        self._moments.append(now)

    def is_on(self, *, outrun: bool = False) -> bool:
        """`outrun`: the next comes before the last is done with, so half as fast is too fast."""
        moments, count = self._moments, _BRISK if outrun else _FAST
        return len(moments) >= count and moments[-1] - moments[-count] < _WITHIN


class PostgresBell:
    """Rings for one process; the thread starts at the first ring, once more after a fork."""

    def __init__(self, connect: Connect, channel: str, *, gap: float = GAP) -> None:
        self._connect, self._channel, self._gap = connect, channel, gap
        self._inherited: list[psycopg.Connection[Any] | None] = []
        self._connection: psycopg.Connection[Any] | None = None
        self._renew()
        after_fork(self, PostgresBell._renew)

    def _renew(self) -> None:
        # In a forked child the connection is the parent's: neither used nor closed there.
        self._inherited.append(self._connection)
        self._connection = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._asked, self._closing = threading.Event(), threading.Event()
        # While the server is away the oldest fall out; afterwards all are told to look everywhere.
        self._arrived: deque[tuple[float, Hints, Happened | None]] = deque(maxlen=1000)
        self._waiting: dict[Happened, tuple[float, Hints]] = {}
        self._haste, self._outrun = Haste(), False
        self._last = 0.0
        self._failures = 0

    def ring(self, hints: Collection[str], after: Happened | None = None) -> None:
        now = monotonic()
        self._haste.note(now)
        self._arrived.append((now, frozenset(hints), after))
        if self._thread is None:
            self._start()
        if not self._asked.is_set():
            self._asked.set()

    def close(self) -> None:
        thread = self._thread
        if thread is None:
            return
        self._closing.set()
        self._asked.set()
        thread.join(1.0)
        if not thread.is_alive():
            # A web application may start again in this process, and ring again.
            self._thread = None
            self._closing.clear()

    def _start(self) -> None:
        with self._starting:
            if self._thread is not None:
                return
            thread = threading.Thread(target=self._run, name="todoke-bell", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending, or the system has no more threads
                return
            self._thread = thread

    # --- in the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._wait_for_rings():
                self._ring_when_due()
        except Exception:
            log.exception("the bell broke: workers find events by polling until it is rung again")
            self._thread = None
        finally:
            self._hang_up()

    def _wait_for_rings(self) -> bool:
        """Until somebody rings; False when the bell is closed and nothing is left to ring."""
        while not (self._arrived or self._waiting or self._failures):
            if self._closing.is_set():
                return False
            if not self._asked.wait(_IDLE if self._connection else None):
                self._hang_up()
            self._asked.clear()
        return not (self._failures and self._closing.is_set())

    def _ring_when_due(self) -> None:
        # The gap comes first: fast producers then pay for no looks at commits under way.
        if (
            self._haste.is_on(outrun=self._outrun)
            and (early := self._last + self._gap - monotonic()) > 0
        ):
            sleep(early)
        while not (due := self._due()):
            if not (self._waiting or self._arrived):
                return
            self._asked.clear()
            if not self._arrived:
                self._asked.wait(self._look())
        self._outrun = len(due) + len(self._waiting) + len(self._arrived) > 1
        self._send(_joined(*due))

    def _look(self) -> float:
        """Seconds until the next look: a share of the youngest one's age."""
        age = monotonic() - max(since for since, _ in self._waiting.values())
        return min(max(age * _SHARE, _SHORTEST_LOOK), _LONGEST_LOOK)

    def _due(self) -> list[Hints]:
        due = self._take_arrived()
        if self._failures:
            self._waiting.clear()
            return [EVERYWHERE]
        patience = _LAST_PATIENCE if self._closing.is_set() else _PATIENCE
        now, still = monotonic(), {}
        for after, (since, hints) in self._waiting.items():
            if after():
                due.append(hints)
            elif now - since < patience:
                still[after] = (since, hints)
        self._waiting = still
        return due

    def _take_arrived(self) -> list[Hints]:
        """What is due at once; the rest waits, that of one transaction together."""
        due = []
        while self._arrived:
            since, hints, after = self._arrived.popleft()
            if after is None:
                due.append(hints)
                continue
            others = self._waiting.get(after)
            joined = hints if others is None else _joined(hints, others[1])
            self._waiting[after] = (since, joined)
        return due

    def _send(self, hints: Hints) -> None:
        self._last = monotonic()
        try:
            self._notify(pack(hints))
        except (psycopg.Error, OSError) as error:
            self._stumble(error)
            return
        if self._failures:
            log.warning("the bell rings again after %d failed tries", self._failures)
            self._failures = 0

    def _notify(self, payload: str) -> None:
        if self._connection is not None:
            try:
                self._execute(self._connection, payload)
            except psycopg.OperationalError:
                self._hang_up()  # it may have died long ago, unnoticed
            else:
                return
        self._connection = self._connect()
        self._execute(self._connection, payload)

    def _execute(self, connection: psycopg.Connection[Any], payload: str) -> None:
        # libpq itself, and a command without a plan: other ways take longer than the server.
        quoted = Escaping(connection.pgconn)
        channel = quoted.escape_identifier(self._channel.encode())
        hints = quoted.escape_literal(payload.encode())
        answer = connection.pgconn.exec_(b"NOTIFY " + channel + b", " + hints)
        if answer.status != ExecStatus.COMMAND_OK:
            raise psycopg.OperationalError(connection.pgconn.error_message.decode(errors="replace"))

    def _stumble(self, error: Exception) -> None:
        self._hang_up()
        self._failures += 1
        if self._failures == 1:
            log.error(
                "the bell cannot reach the database: workers find events by polling until it "
                "can; will go on trying: %s",
                error,
            )
        self._closing.wait(min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2 ** min(self._failures - 1, 8)))

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _joined(*hints: Hints) -> Hints:
    return EVERYWHERE if EVERYWHERE in hints else EVERYWHERE.union(*hints)
