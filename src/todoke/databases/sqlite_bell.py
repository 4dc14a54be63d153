"""SQLite's ear: nobody calls, but one cheap look tells whether another connection has committed."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from todoke.bell import SOMEBODY, OnRing
from todoke.telemetry import log

INTERVAL = 0.02
_PAUSE = 1.0


class SqliteEar:
    """Watches `PRAGMA data_version` of a database file."""

    def __init__(self, path: Path, on_ring: OnRing, *, interval: float = INTERVAL) -> None:
        self._path, self._on_ring, self._interval = path.absolute(), on_ring, interval
        self.works: bool | None = None
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="todoke-ear", daemon=True)
        self._failures = 0

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(2.0)

    def try_once(self) -> float | None:
        """How long one look takes; None while the file is locked."""
        try:
            with closing(self._open()) as connection:
                start = time.monotonic()
                version = data_version(connection)
                return None if version is None else time.monotonic() - start
        except sqlite3.Error as error:
            raise ConnectionError(str(error)) from error

    # --- in the thread -----------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                with closing(self._open()) as connection:
                    self._watch(connection)
            except (sqlite3.Error, OSError) as error:
                self._stumble(error)
            except Exception:
                log.exception("the ear broke: it begins anew, meanwhile the worker polls")
                self._stopping.wait(_PAUSE)

    def _open(self) -> sqlite3.Connection:
        # mode=rw: a file that is not there yet must not be made here. Not ro: a reader of a
        # write-ahead log has to write into its index.
        address = f"file:{quote(str(self._path))}?mode=rw"
        connection = sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
        connection.execute("PRAGMA query_only=ON").close()
        return connection

    def _watch(self, connection: sqlite3.Connection) -> None:
        """Until the file is another one."""
        opened = self._which_file()
        seen = None
        while not self._stopping.wait(0 if seen is None else self._interval):
            if self._which_file() != opened:
                return
            version = data_version(connection)
            if version is not None and version != seen:
                seen = version
                self._recover()
                self._on_ring(SOMEBODY)

    def _which_file(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_dev, found.st_ino

    def _recover(self) -> None:
        self.works = True
        if self._failures:
            log.warning("the ear hears again after %d failed tries", self._failures)
            self._failures = 0

    def _stumble(self, error: Exception) -> None:
        self.works = None
        self._failures += 1
        if self._failures == 1:
            log.error(
                "the ear cannot read %s: the worker polls until it can; will go on trying: %s",
                self._path,
                error,
            )
        self._stopping.wait(_PAUSE)


def data_version(connection: sqlite3.Connection) -> int | None:
    """A number that differs after each commit of others; None while the file is locked."""
    try:
        # All rows at once: a statement left half-read would keep its read transaction open, and
        # the write-ahead log could not be cut.
        [(version,)] = connection.execute("PRAGMA data_version").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return None
        raise
    return int(version)
