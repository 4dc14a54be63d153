"""Creating and upgrading todoke's own tables (Alembic, inside the package)."""

from __future__ import annotations

from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text
from sqlalchemy.schema import CreateSchema

from todoke.database import Database
from todoke.errors import SchemaOutdated

_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(engine: Engine, database: Database) -> None:
    """Bring the tables to this release's revision; safe to repeat."""
    with database.one_migration(engine) as connection:
        if database.schema is not None:
            _create_schema(connection, database.schema)
        command.upgrade(_config(database, connection=connection), "head")


def migration_sql(database: Database, url: str) -> str:
    """What `migrate` would run, for a person who runs it by hand."""
    out = StringIO()
    command.upgrade(_config(database, url=url, output=out), "head", sql=True)
    if database.schema is None:
        return out.getvalue()
    return f"{CreateSchema(database.schema, if_not_exists=True)};\n\n{out.getvalue()}"


def check(connection: Connection, database: Database) -> str:
    """This release's revision; tables of another one are refused."""
    wanted = _newest_revision()
    options = {"version_table": database.version_table, "version_table_schema": database.schema}
    found = MigrationContext.configure(connection, opts=options).get_current_revision()
    if found != wanted:
        raise SchemaOutdated(found, wanted)
    return wanted


@cache
def _newest_revision() -> str:
    """This release's; finding it reads every migration."""
    return str(ScriptDirectory(str(_SCRIPTS)).get_current_head())


def _create_schema(connection: Connection, schema: str) -> None:
    quoted = connection.dialect.identifier_preparer.quote_schema(schema)
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {quoted}"))


def _config(database: Database, *, output: StringIO | None = None, **attributes: Any) -> Config:
    config = Config(output_buffer=output) if output else Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes.update(attributes, database=database)
    return config
