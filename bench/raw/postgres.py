"""PostgreSQL by bare psycopg.

Claim and settle are each a transaction by itself, so no trip to the server is wasted; publishing
begins and commits, as it does in an application's transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from uuid import uuid4

import psycopg

from bench.raw.tables import STREAM, UNORDERED, Row, Tables


class Raw:
    def __init__(self, wish: Any, tables: Tables) -> None:
        self._connection = psycopg.connect(wish["dsn"], autocommit=True)
        self._connection.execute("SET enable_seqscan = off")  # as todoke's agents do
        self._owner, self._body = uuid4(), tables.body
        self._claim, self._settle = _claim(tables), _settle(tables)
        self._insert, self._insert_all = _insert(tables), _insert_all(tables)
        self._accept, self._find = (
            _accept(tables),
            f"SELECT * FROM {tables.ledger} WHERE id = %(id)s",
        )

    def close(self) -> None:
        self._connection.close()

    def claim(self, limit: int) -> list[tuple[int, str]]:
        found = self._run(self._claim, {"owner": self._owner, "limit": limit}).fetchall()
        return [(row[0], row[self._body]) for row in found]

    def settle(self, ids: Sequence[int]) -> None:
        self._run(self._settle, {"owner": self._owner, "ids": list(ids)}).fetchall()

    def settle_with_effect(self, number: int, order: int, owner: Any) -> None:
        """Settled and done in one transaction, as a session handler does it."""
        with self._connection.transaction():
            self._run(self._settle, {"owner": owner, "ids": [number]}).fetchall()
            self._run("INSERT INTO effects (order_id) VALUES (%(order)s)", {"order": order})

    @property
    def owner(self) -> Any:
        return self._owner

    def publish(self, row: Row) -> None:
        with self._connection.transaction():
            self._run(self._insert, row)

    def accept(self, entry: Row, row: Row) -> None:
        with self._connection.transaction():
            self._run(self._accept, entry)
            self._run(self._insert, row)

    def find(self, entry: Any) -> Any:
        with self._connection.transaction():
            return self._run(self._find, {"id": entry}).fetchone()

    def publish_all(self, rows: Sequence[Row]) -> None:
        """Arrays of what differs, values of what is the same in all."""
        lists = {name: [row[name] for row in rows] for name in _DIFFERENT}
        with self._connection.transaction():
            self._run(self._insert_all, {**rows[0], **lists})

    def _run(self, statement: str, values: Any) -> psycopg.Cursor:
        return self._connection.execute(cast("Any", statement), values, prepare=True)


def _claim(tables: Tables) -> str:
    return f"""
    UPDATE {tables.live}
       SET owner = %(owner)s, attempt = attempt + 1, claimed_at = clock_timestamp(),
           alone = false, started = false
     WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM {tables.live}
            WHERE state = 'ready' AND stream = '{STREAM}' AND lane = {UNORDERED}
              AND owner IS NULL
            ORDER BY priority, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
       AND owner IS NULL
 RETURNING {tables.claimed}"""


def _settle(tables: Tables) -> str:
    return f"""
    WITH gone AS (
        DELETE FROM {tables.live} WHERE id = ANY(%(ids)s) AND owner = %(owner)s AND attempt = 1
     RETURNING {tables.carried})
    INSERT INTO {tables.history} ({tables.carried}, note, settled_at)
    SELECT {tables.carried}, NULL, clock_timestamp() FROM gone RETURNING id"""


def _insert(tables: Tables) -> str:
    values = ", ".join(f"%({name})s" for name in tables.row)
    return f"""
    INSERT INTO {tables.live} ({tables.columns}, created_at, scheduled_at, updated_at)
    VALUES ({values}, clock_timestamp(), clock_timestamp(), clock_timestamp())"""


def _accept(tables: Tables) -> str:
    values = ", ".join(f"%({name})s" for name in tables.entry)
    return f"""
    INSERT INTO {tables.ledger} ({tables.entry_columns}, accepted_at)
    VALUES ({values}, clock_timestamp())"""


def _insert_all(tables: Tables) -> str:
    values = ", ".join(name if name in _DIFFERENT else f"%({name})s" for name in tables.row)
    lists = ", ".join(f"%({name})s::{kind}[]" for name, kind in _DIFFERENT.items())
    return f"""
    INSERT INTO {tables.live} ({tables.columns}, created_at, scheduled_at, updated_at)
    SELECT {values}, clock_timestamp(), clock_timestamp(), clock_timestamp()
      FROM unnest({lists}) AS many ({", ".join(_DIFFERENT)}) RETURNING id"""


_DIFFERENT = {"message_id": "uuid", "key": "text", "body": "text"}
