"""SQLite for `todoke doctor`: a file, its write-ahead log, and what our connections ask of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy import text

from todoke.databases.health import Check, Health, Patient, by_rules, rule
from todoke.finding import Finding, bad, by_size, ok

_OLDEST = (3, 35, 0)
_LARGE_LOG = 64 * 1024 * 1024
_LEVELS = {0: "off", 1: "normal", 2: "full", 3: "extra"}

_DURABLE = (
    rule(
        "journal_mode",
        "wal delete truncate persist",
        "a crash in the middle of a commit destroys the database",
        "Take PRAGMA journal_mode out of your own engine's connect hook.",
    ),
    rule(
        "synchronous",
        "full extra",
        "a crash of the machine loses events whose commit was acknowledged",
        "Take PRAGMA synchronous out of your own engine's connect hook, or say FULL there.",
    ),
)


class SqliteHealth(Health):
    def __init__(self) -> None:
        self.checks: Sequence[Check] = (
            Check("server", _server),
            Check("durability", _durability),
            Check("log", _log),
        )

    def is_denied(self, error: Exception) -> bool:
        return False


def _server(patient: Patient) -> Iterator[Finding]:
    yield age(sqlite3.sqlite_version_info)


def age(version: tuple[int, ...]) -> Finding:
    found = f"SQLite {'.'.join(map(str, version))}"
    if version >= _OLDEST:
        return ok("server", found)
    return bad("server", f"{found} has no UPDATE … RETURNING", "Use a Python with SQLite 3.35.")


def _durability(patient: Patient) -> Iterator[Finding]:
    level = int(patient.row(text("PRAGMA synchronous"))[0])
    mode = str(patient.row(text("PRAGMA journal_mode"))[0])
    values = {"journal_mode": mode, "synchronous": _LEVELS.get(level, str(level))}
    if mode == "memory" and _file(patient) is None:
        yield ok("durability", "none: the database is in memory, for tests")
    else:
        yield from by_rules("durability", _DURABLE, values)


def _log(patient: Patient) -> Iterator[Finding]:
    """A reader that never ends keeps the log from being cut, and every look reads through it."""
    file = _file(patient)
    log = Path(f"{file}-wal")
    size = log.stat().st_size if file is not None and log.exists() else 0
    yield by_size(
        "log",
        size,
        _LARGE_LOG,
        f"the write-ahead log has {size / 1024 / 1024:.1f} MiB",
        "Find the process whose read transaction never ends and stop it, "
        "then run PRAGMA wal_checkpoint(TRUNCATE);",
    )


def _file(patient: Patient) -> Path | None:
    named = [row.file for row in patient.rows(text("PRAGMA database_list")) if row.name == "main"]
    return Path(named[0]) if named and named[0] else None
