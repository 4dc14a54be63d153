"""PostgreSQL's ear: LISTEN on a connection of its own, tested when it starts."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import closing
from time import monotonic
from typing import Any
from uuid import uuid4

import psycopg
from psycopg import sql

from todoke.bell import EVERYWHERE, OnRing, unpack
from todoke.databases.postgres_bell import Connect, Haste
from todoke.telemetry import log

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
_TEST_SECONDS = 2.0
_DEAF_PAUSE = 300.0
_TEST = "?"
"""Begins the payload of a self-test, which is for one ear alone."""


class PostgresEar:
    """Listens for NOTIFY; finds out whether one arrives, and says so when it does not."""

    def __init__(
        self,
        connect: Connect,
        notifier: Connect,
        channel: str,
        on_ring: OnRing,
        *,
        gap: float,
        poll: float,
    ) -> None:
        """`connect` leads to where this ear listens, `notifier` to where bells ring."""
        self._connect, self._notifier, self._channel = connect, notifier, channel
        self._on_ring, self._gap, self._poll = on_ring, gap, poll
        self._haste = Haste()
        self.works: bool | None = None
        self._stopping = threading.Event()
        self._inside, self._outside = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="todoke-ear", daemon=True)
        self._failures = 0
        self._warned = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._outside.send(b".")
        if self._thread.ident is not None:
            self._thread.join(2.0)
        if not self._thread.is_alive():
            self._inside.close()
            self._outside.close()

    def try_once(self) -> float | None:
        try:
            with closing(self._connect()) as connection:
                self._subscribe(connection)
                try:
                    return self._echo(connection)
                finally:
                    # As after a failed test: behind a pooler it would stick to a connection.
                    connection.execute("UNLISTEN *")
        except psycopg.Error as error:
            raise ConnectionError(" ".join(str(error).split())) from error
        finally:
            self.stop()

    # --- in the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(self._connect()) as connection:
                    self._listen(connection)
            except (psycopg.Error, OSError) as error:
                self._stumble(error)
            except Exception:
                log.exception("the ear broke: it listens anew, meanwhile the worker polls")
                self._stopping.wait(_LONGEST_PAUSE)

    def _subscribe(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(self._channel)))

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        self._subscribe(connection)
        self._recover()
        self._on_ring(EVERYWHERE)  # something may have been missed
        if self.works is not True and not self._passes_test(connection):
            return
        while not self._stopping.is_set():
            for payload in self._heard(connection, None):
                self._pass_on([payload])
            if self._haste.is_on():
                # Many ring at once: the worker looks once for all that comes within the gap.
                self._stopping.wait(self._gap)
                self._pass_on(set(self._heard(connection, 0)))

    def _heard(self, connection: psycopg.Connection[Any], seconds: float | None) -> Iterator[str]:
        """What arrives in one go; nothing when the time is up or the ear is stopped."""
        poll = select.poll()
        for one in (connection.fileno(), self._inside.fileno()):
            poll.register(one, select.POLLIN)
        if poll.poll(None if seconds is None else max(0, seconds * 1000)):
            connection.pgconn.consume_input()
        while found := connection.pgconn.notifies():
            self._haste.note(monotonic())
            yield found.extra.decode()

    def _pass_on(self, payloads: Collection[str]) -> None:
        rings = [unpack(payload) for payload in payloads if not payload.startswith(_TEST)]
        if rings:
            self._on_ring(EVERYWHERE if EVERYWHERE in rings else EVERYWHERE.union(*rings))

    # --- self-test ---------------------------------------------------------------------------

    def _passes_test(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether a NOTIFY arrives here; a pooler or a proxy may swallow it without a word."""
        if self._echo(connection) is not None:
            self._succeed()
            return True
        if not self._stopping.is_set():
            self._fail(connection)
        return False

    def _echo(self, connection: psycopg.Connection[Any]) -> float | None:
        """Seconds until a NOTIFY from elsewhere is heard; None if it is not in time."""
        token = f"{_TEST}{uuid4()}"
        with closing(self._notifier()) as other:
            start = monotonic()
            other.execute("SELECT pg_notify(%s, %s)", (self._channel, token))
        end = monotonic() + _TEST_SECONDS
        while (left := end - monotonic()) > 0 and not self._stopping.is_set():
            heard = set(self._heard(connection, left))
            self._pass_on(heard - {token})
            if token in heard:
                return monotonic() - start
        return None

    def _succeed(self) -> None:
        if self._warned:
            log.warning("wake-ups arrive now: the worker no longer depends on polling")
        self.works, self._warned = True, False

    def _fail(self, connection: psycopg.Connection[Any]) -> None:
        self.works = False
        if not self._warned:
            self._warned = True
            log.warning(
                "WAKE-UPS DO NOT ARRIVE: this worker sent itself a NOTIFY and did not hear it "
                "within %g s. It finds events by polling only, so each waits for up to %g s "
                "(outbox.poll). Usual cause: a pooler in transaction mode, such as PgBouncer, "
                "between worker and PostgreSQL. Remedy: set database.listen_url to an address "
                "that leads straight to the server.",
                _TEST_SECONDS,
                self._poll,
            )
        # Behind a pooler the LISTEN may stick to a connection that belongs to others by now.
        connection.execute("UNLISTEN *")
        connection.close()
        self._stopping.wait(_DEAF_PAUSE)

    # --- outages -----------------------------------------------------------------------------

    def _recover(self) -> None:
        if self._failures:
            log.warning("the ear listens again after %d failed tries", self._failures)
            self._failures = 0

    def _stumble(self, error: Exception) -> None:
        if self._stopping.is_set():
            return
        self._failures += 1
        if self._failures == 1:
            log.error(
                "the ear cannot reach the database: the worker polls until it can; "
                "will go on trying: %s",
                error,
            )
        self._stopping.wait(min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2 ** min(self._failures - 1, 8)))
