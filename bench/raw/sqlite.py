"""SQLite by the standard library's driver."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import make_url

from bench.raw.tables import STREAM, UNORDERED, Row, Tables

_NOW = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"


class Raw:
    def __init__(self, wish: Any, tables: Tables) -> None:
        path = str(make_url(wish["url"]).database)
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(f"PRAGMA synchronous={wish['synchronous']}")
        self._tables, self._owner = tables, uuid4().hex
        self._claim, self._insert = _claim(tables), _insert(tables)

    def close(self) -> None:
        self._connection.close()

    def claim(self, limit: int) -> list[tuple[int, str]]:
        with self._writing():
            values = {"owner": self._owner, "limit": limit}
            found = self._connection.execute(self._claim, values).fetchall()
        return [(row[0], row[self._tables.body]) for row in sorted(found)]

    def settle(self, ids: Sequence[int]) -> None:
        names, values = self._tables, (*ids, self._owner)
        mine = f"id IN ({', '.join('?' * len(ids))}) AND owner = ? AND attempt = 1"
        move = f"""
        INSERT INTO {names.history} ({names.carried}, note, settled_at)
        SELECT {names.carried}, NULL, {_NOW} FROM {names.live} WHERE {mine} RETURNING id"""
        with self._writing():
            self._connection.execute(move, values).fetchall()
            self._connection.execute(f"DELETE FROM {names.live} WHERE {mine}", values)

    def publish(self, row: Row) -> None:
        self.publish_all([row])

    def accept(self, entry: Row, row: Row) -> None:
        with self._writing():
            self._connection.execute(_accept(self._tables), _stored(entry))
            self._connection.execute(self._insert, _stored(row))

    def find(self, entry: UUID) -> Any:
        find = f"SELECT * FROM {self._tables.ledger} WHERE id = ?"
        with self._writing():
            return self._connection.execute(find, (entry.hex,)).fetchone()

    def publish_all(self, rows: Sequence[Row]) -> None:
        with self._writing():
            self._connection.executemany(self._insert, map(_stored, rows))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        yield
        self._connection.execute("COMMIT")


def _claim(tables: Tables) -> str:
    return f"""
    UPDATE {tables.live}
       SET owner = :owner, attempt = attempt + 1, claimed_at = {_NOW}, alone = 0, started = 0
     WHERE id IN (
           SELECT id FROM {tables.live}
            WHERE state = 'ready' AND stream = '{STREAM}' AND lane = {UNORDERED}
              AND owner IS NULL
            ORDER BY priority, id LIMIT :limit)
       AND owner IS NULL
 RETURNING {tables.claimed}"""


def _insert(tables: Tables) -> str:
    values = ", ".join(f":{name}" for name in tables.row)
    return f"""
    INSERT INTO {tables.live} ({tables.columns}, created_at, scheduled_at, updated_at)
    VALUES ({values}, {_NOW}, {_NOW}, {_NOW})"""


def _accept(tables: Tables) -> str:
    values = ", ".join(f":{name}" for name in tables.entry)
    return f"""
    INSERT INTO {tables.ledger} ({tables.entry_columns}, accepted_at) VALUES ({values}, {_NOW})"""


def _stored(row: Row) -> Row:
    """This driver knows no UUIDs."""
    return {name: value.hex if isinstance(value, UUID) else value for name, value in row.items()}
