"""Connections of Python's own sqlite3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import URL

from todoke.driver import Parameters, SyncDriver

_FILE = "SELECT file FROM pragma_database_list WHERE name = 'main'"


class Sqlite3(SyncDriver):
    name = "a sqlite3 connection"
    dialect = "sqlite+pysqlite"
    remedy = 'Begin one with `conn.execute("BEGIN")`, or connect without `isolation_level=None`.'

    def address(self, connection: Any) -> URL | None:
        return address_of(connection)

    def commits_by_itself(self, connection: Any) -> bool:
        return commits_by_itself(connection)

    def execute(self, connection: Any, statement: str, parameters: Parameters) -> None:
        connection.execute(statement, parameters)

    def execute_many(
        self, connection: Any, statement: str, parameters: Sequence[Parameters]
    ) -> None:
        connection.executemany(statement, parameters)

    def find(self, connection: Any, statement: str, parameters: Parameters) -> Sequence[Any] | None:
        cursor = connection.cursor()
        cursor.row_factory = None  # the user's rows may be of any kind
        found: Sequence[Any] | None = cursor.execute(statement, parameters).fetchone()
        cursor.close()
        return found


def address_of(connection: Any) -> URL:
    cursor = connection.cursor()
    cursor.row_factory = None  # the user's rows may be of any kind
    (file,) = cursor.execute(_FILE).fetchone()
    return URL.create("sqlite", database=file or None)


def commits_by_itself(connection: Any) -> bool:
    """In a mode without transactions, and none was begun.

    Otherwise the driver begins one with the first change: before it `in_transaction` says nothing.
    """
    mode = getattr(connection, "autocommit", None)  # from Python 3.12 on; -1 is the older way
    without = mode is True or (mode is not False and connection.isolation_level is None)
    return without and not connection.in_transaction
