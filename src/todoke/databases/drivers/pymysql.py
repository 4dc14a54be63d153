"""PyMySQL's connections."""

from __future__ import annotations

from typing import Any

from sqlalchemy import URL

from todoke.driver import CursorDriver

_IN_TRANSACTION = 1  # of the status that the server sends along with each answer


class PyMySql(CursorDriver):
    name = "a PyMySQL connection"
    dialect = "mariadb+pymysql"
    remedy = "Call `conn.begin()` before, or connect without `autocommit=True`."

    def address(self, connection: Any) -> URL | None:
        database = connection.db
        name = database.decode() if isinstance(database, bytes) else database
        return URL.create("mariadb", host=connection.host, port=connection.port, database=name)

    def commits_by_itself(self, connection: Any) -> bool:
        begun = connection.server_status & _IN_TRANSACTION
        return bool(connection.get_autocommit()) and not begun
