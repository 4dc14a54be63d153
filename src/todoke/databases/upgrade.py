"""Creating and upgrading todoke's own tables (Alembic, inside the package).

Imported where it is needed: a process that publishes or works has no use for Alembic, which is a
fifth of all that would be loaded.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, text
from sqlalchemy.schema import CreateSchema

from todoke.database import Database
from todoke.databases import schema

SCRIPTS = Path(__file__).parent / "migrations"


def migrate(engine: Engine, database: Database, to: str = "head") -> None:
    """Bring the tables to this release's revision, or to an older one; safe to repeat."""
    if to == "head" and _is_done(engine, database):
        return
    with database.one_migration(engine) as connection:
        if database.schema is not None:
            _create_schema(connection, database.schema)
        command.upgrade(_config(database, connection=connection), to)


def migration_sql(database: Database, url: str) -> str:
    """What `migrate` would run, for a person who runs it by hand."""
    out = StringIO()
    command.upgrade(_config(database, url=url, output=out), "head", sql=True)
    if database.schema is None:
        return out.getvalue()
    return f"{CreateSchema(database.schema, if_not_exists=True)};\n\n{out.getvalue()}"


def _is_done(engine: Engine, database: Database) -> bool:
    """Told by one look, for the many starts that find everything in place."""
    with engine.connect() as connection:
        return schema.found(connection, database) == schema.REVISION


def _create_schema(connection: Connection, name: str) -> None:
    quoted = connection.dialect.identifier_preparer.quote_schema(name)
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {quoted}"))


def _config(database: Database, *, output: StringIO | None = None, **attributes: Any) -> Config:
    config = Config(output_buffer=output) if output else Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes.update(attributes, database=database)
    return config
