"""Which tables this release works with."""

from __future__ import annotations

from sqlalchemy import Connection, String, column, inspect, select, table

from todoke.database import Database
from todoke.errors import SchemaOutdated

REVISION = "0005"
"""The newest of the migrations."""


def check(connection: Connection, database: Database) -> str:
    """This release's revision; tables of another one are refused."""
    found = _found(connection, database)
    if found != REVISION:
        raise SchemaOutdated(found, REVISION)
    return REVISION


def _found(connection: Connection, database: Database) -> str | None:
    name, schema = database.version_table, database.schema
    if not inspect(connection).has_table(name, schema):
        return None
    noted = column("version_num", String())
    return connection.execute(select(noted).select_from(table(name, noted, schema=schema))).scalar()
