"""The orders that were taken: one per key, on disk before anybody hears of it."""

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

_TABLE = """
CREATE TABLE IF NOT EXISTS orders (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    body TEXT NOT NULL,
    taken_at TEXT NOT NULL
)
"""


class KeyReused(Exception):
    """The key came with another order before."""


@dataclass(frozen=True)
class Taken:
    number: int
    key: str
    body: dict[str, Any]
    taken_at: str

    @property
    def receipt(self) -> dict[str, Any]:
        return {
            "brokerOrderId": f"PB-{self.number:08}",
            "clientOrderId": self.body["clientOrderId"],
            "takenAt": self.taken_at,
        }


class Book:
    """One SQLite file; threads take turns at it."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_TABLE)
        self._lock = Lock()

    def take(self, key: str, body: dict[str, Any]) -> Taken:
        """The order under this key: written now, or found as it was written first."""
        text = json.dumps(body, sort_keys=True)
        digest = sha256(text.encode()).hexdigest()
        values = (key, digest, text, _now())
        with self._lock:
            self._connection.execute(
                "INSERT INTO orders (key, digest, body, taken_at) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (key) DO NOTHING",
                values,
            )
            (first,) = self._connection.execute(
                "SELECT digest FROM orders WHERE key = ?", [key]
            ).fetchone()
        if first != digest:
            raise KeyReused
        return self.orders(key)[0]

    def orders(self, key: str | None = None) -> list[Taken]:
        """Oldest first."""
        with self._lock, closing(self._connection.cursor()) as cursor:
            cursor.execute(
                "SELECT number, key, body, taken_at FROM orders"
                " WHERE ? IS NULL OR key = ? ORDER BY number",
                [key, key],
            )
            return [Taken(row[0], row[1], json.loads(row[2]), row[3]) for row in cursor]

    def close(self) -> None:
        self._connection.close()


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
