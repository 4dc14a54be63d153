"""MariaDB by bare PyMySQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pymysql
from sqlalchemy import make_url

from bench.raw.tables import STREAM, UNORDERED, Row, Tables

_NOW = "UTC_TIMESTAMP(6)"


class Raw:
    def __init__(self, wish: Any, tables: Tables) -> None:
        url = make_url(wish["url"])
        self._connection = pymysql.connect(
            host=url.host,
            port=url.port or 3306,
            user=url.username,
            database=url.database,
            charset="utf8mb4",
            ssl_disabled=True,
            init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        )
        self._tables, self._owner = tables, uuid4().hex

    def close(self) -> None:
        self._connection.close()

    def claim(self, limit: int) -> list[tuple[int, str]]:
        """No UPDATE … RETURNING here: look with locks, mark, read."""
        names = self._tables
        look = f"""
        SELECT id FROM {names.live}
         WHERE state = 'ready' AND stream = '{STREAM}' AND lane = {UNORDERED} AND owner IS NULL
         ORDER BY priority, id LIMIT %s FOR UPDATE SKIP LOCKED"""
        with self._connection.cursor() as cursor:
            cursor.execute(look, (limit,))
            ids = [row[0] for row in cursor.fetchall()]
            found = self._mark(cursor, ids) if ids else []
        self._connection.commit()
        return found

    def _mark(self, cursor: Any, ids: Sequence[int]) -> list[tuple[int, str]]:
        names, these = self._tables, ", ".join(["%s"] * len(ids))
        cursor.execute(
            f"UPDATE {names.live} SET owner = %s, attempt = attempt + 1, claimed_at = {_NOW}, "
            f"alone = false, started = false WHERE id IN ({these}) AND owner IS NULL",
            (self._owner, *ids),
        )
        cursor.execute(f"SELECT {names.claimed} FROM {names.live} WHERE id IN ({these})", ids)
        return [(row[0], row[names.body]) for row in cursor.fetchall()]

    def settle(self, ids: Sequence[int]) -> None:
        names, values = self._tables, (*ids, self._owner)
        mine = f"id IN ({', '.join(['%s'] * len(ids))}) AND owner = %s AND attempt = 1"
        move = f"""
        INSERT INTO {names.history} ({names.carried}, note, settled_at)
        SELECT {names.carried}, NULL, {_NOW} FROM {names.live} WHERE {mine} FOR UPDATE
        RETURNING id"""
        with self._connection.cursor() as cursor:
            cursor.execute(move, values)
            cursor.execute(f"DELETE FROM {names.live} WHERE {mine}", values)
        self._connection.commit()

    def publish(self, row: Row) -> None:
        self.publish_all([row])

    def accept(self, entry: Row, row: Row) -> None:
        names = self._tables
        these = ", ".join(["%s"] * len(entry))
        insert = (
            f"INSERT INTO {names.ledger} ({names.entry_columns}, accepted_at) "
            f"VALUES ({these}, {_NOW})"
        )
        with self._connection.cursor() as cursor:
            cursor.execute(insert, [_stored(value) for value in entry.values()])
        self.publish(row)

    def find(self, entry: UUID) -> Any:
        with self._connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {self._tables.ledger} WHERE id = %s", (entry.hex,))
            found = cursor.fetchone()
        self._connection.commit()
        return found

    def publish_all(self, rows: Sequence[Row]) -> None:
        """One INSERT of many rows, which the driver would not make of calls of functions."""
        names = self._tables
        one = f"({', '.join(['%s'] * len(names.row))}, {_NOW}, {_NOW}, {_NOW})"
        insert = (
            f"INSERT INTO {names.live} ({names.columns}, created_at, scheduled_at, updated_at) "
            f"VALUES {', '.join([one] * len(rows))}"
        )
        with self._connection.cursor() as cursor:
            cursor.execute(insert, [_stored(value) for row in rows for value in row.values()])
        self._connection.commit()


def _stored(value: Any) -> Any:
    return value.hex if isinstance(value, UUID) else value
