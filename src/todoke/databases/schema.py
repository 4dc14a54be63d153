"""Which tables this release works with."""

from __future__ import annotations

from sqlalchemy import Connection, String, column, inspect, select, table

from todoke.database import Database, of_driver
from todoke.errors import SchemaOutdated

REVISION = "0008"
"""The newest of the migrations."""


def check(connection: Connection, database: Database) -> str:
    """This release's revision; tables of another one are refused."""
    revision = found(connection, database)
    if revision != REVISION:
        raise SchemaOutdated(revision, REVISION)
    return REVISION


class needed:  # noqa: N801
    """Around what writes into the tables, by whatever driver: says so if they are missing."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Exception) and self._database.lacks_table(of_driver(error)):
            raise SchemaOutdated(None, REVISION) from error


def found(connection: Connection, database: Database) -> str | None:
    """The revision of the tables that are there; None where there are none."""
    name, schema = database.version_table, database.schema
    if not inspect(connection).has_table(name, schema):
        return None
    noted = column("version_num", String())
    return connection.execute(select(noted).select_from(table(name, noted, schema=schema))).scalar()
