"""Which tables this release works with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, String, column, inspect, select, table

from todoke.database import Database, of_driver
from todoke.errors import SchemaOutdated

REVISION = "0007"
"""The newest of the migrations."""


def check(connection: Connection, database: Database) -> str:
    """This release's revision; tables of another one are refused."""
    revision = found(connection, database)
    if revision != REVISION:
        raise SchemaOutdated(revision, REVISION)
    return REVISION


@contextmanager
def needed(database: Database) -> Iterator[None]:
    """For what writes into the tables, by whatever driver: says so if they are missing."""
    try:
        yield
    except Exception as error:
        if database.lacks_table(of_driver(error)):
            raise SchemaOutdated(None, REVISION) from error
        raise


def found(connection: Connection, database: Database) -> str | None:
    """The revision of the tables that are there; None where there are none."""
    name, schema = database.version_table, database.schema
    if not inspect(connection).has_table(name, schema):
        return None
    noted = column("version_num", String())
    return connection.execute(select(noted).select_from(table(name, noted, schema=schema))).scalar()
