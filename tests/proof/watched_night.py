"""The shop's worker in a night with very many orders: it writes its transactions down.

A worker of `tests.proof.workers`. It may be held between two chunks, so that others can look on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from sqlalchemy import Engine, event

from shop.app import wired
from tests.proof.workers import Workers, workers
from tests.waiting import until
from todoke import Settings, Todoke, crash
from todoke.database import reading
from todoke.operate import RunRecord

JOBS = ("create-shipment", "export-shipment-file", "sftp-put")
PATIENCE = 3000.0
_BEGUN = "watched_night_begun"


class Transaction(NamedTuple):
    """One that a worker has ended, be it for a job or for its own agents."""

    ended: float
    seconds: float
    calls: int
    """Of the driver; many rows that it is given at once are one."""


def shop_at(url: str, folder: Path, settings: Mapping[str, object]) -> Todoke:
    told = {
        "database.url": url,
        "jobs.export.folder": str(folder / "export"),
        "jobs.sftp.sent": str(folder / "sent"),
        "jobs.schedule.create-shipment": "off",  # a proof may well run at one in the morning
        **settings,
    }
    return wired(Todoke(settings=Settings(told, environment={})))


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    """The application of one worker process."""
    app = shop_at(url, Path(folder), settings)
    lines = os.open(f"{folder}/transactions", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)

    def write(seconds: float, calls: int) -> None:
        os.write(lines, f"{monotonic()} {seconds} {calls}\n".encode())

    for engine in (app.engine, app.agents_engine):
        _time_transactions(engine, write)
    crash.arm(_Hold(Path(folder)))
    return app


def _time_transactions(engine: Engine, write: Callable[[float, int], None]) -> None:
    """From behind BEGIN to behind COMMIT: SQLAlchemy's own event comes before the latter."""
    engine.connect().close()  # the dialect's own first look at the database is none of ours
    dialect: Any = engine.dialect

    def begin(connection: Any) -> None:
        connection.info[_BEGUN] = [monotonic(), 0]

    def execute(connection: Any, *_: object) -> None:
        if _BEGUN in connection.info:
            connection.info[_BEGUN][1] += 1

    def timed(end: Callable[[Any], None]) -> Callable[[Any], None]:
        def ending(connection: Any) -> None:
            end(connection)
            if begun := connection.info.pop(_BEGUN, None):
                write(monotonic() - begun[0], begun[1])

        return ending

    event.listen(engine, "begin", begin)
    event.listen(engine, "before_cursor_execute", execute)
    dialect.do_commit, dialect.do_rollback = timed(dialect.do_commit), timed(dialect.do_rollback)


class _Hold:
    """Keeps the process between two chunks while so many are done as the file says."""

    def __init__(self, folder: Path) -> None:
        self._file, self._done = folder / "hold", 0

    def __call__(self, point: str) -> None:
        if point == "chunk.after_commit":
            self._done += 1
            until(lambda: self._done < self._most(), PATIENCE)

    def _most(self) -> float:
        try:
            return int(self._file.read_text())
        except FileNotFoundError:
            return float("inf")


@dataclass
class WatchedNight:
    """Workers one after the other, seen from outside."""

    app: Todoke
    folder: Path
    band: Workers

    def start(self, point: str = "") -> None:
        self.band.start(point)

    @property
    def pid(self) -> int:
        (pid,) = self.band.alive
        return pid

    def hold_at(self, chunks: int) -> None:
        """Let the worker go on until it has done so many since it was started."""
        draft = self.folder / "hold.tmp"
        draft.write_text(str(chunks))
        draft.replace(self.folder / "hold")

    def let_go(self) -> None:
        (self.folder / "hold").unlink()

    def enqueue(self, job: str) -> None:
        with self.app.session() as session:
            self.app.jobs.run(session, job, by="proof", reason="night has come")

    def pause(self, *jobs: str) -> None:
        with self.app.session() as session:
            for job in jobs:
                self.app.jobs.pause(session, job=job, by="proof", reason="one after the other")

    def resume(self, job: str) -> None:
        with self.app.session() as session:
            self.app.jobs.resume(session, job=job, by="proof", reason="its turn")

    def runs(self, job: str) -> list[RunRecord]:
        """Oldest first, as `todoke jobs` sees them, which waits for no writer."""
        with self.app.engine.connect() as connection, reading(connection):
            return list(reversed(self.app.jobs.runs(connection, job)))

    def succeeded(self, job: str, times: int = 1) -> bool:
        ends = [run.status for run in self.runs(job)]
        assert self.band.alive
        assert "FAILED" not in ends
        return ends.count("SUCCEEDED") == times

    def transactions(self, since: float) -> list[Transaction]:
        lines = (self.folder / "transactions").read_text().splitlines()
        parts = (line.split() for line in lines)
        told = [Transaction(float(ended), float(took), int(calls)) for ended, took, calls in parts]
        return [one for one in told if one.ended >= since]


@contextmanager
def watched_night(
    app: Todoke, url: str, folder: Path, settings: dict[str, object]
) -> Iterator[WatchedNight]:
    with workers(url, folder, settings, "tests.proof.watched_night") as band:
        yield WatchedNight(app, folder, band)


def peak_memory(pid: int) -> int:
    """The most bytes that a process had in memory at once, since its peak was last forgotten."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (one for one in lines if one.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def forget_peak_memory(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")
