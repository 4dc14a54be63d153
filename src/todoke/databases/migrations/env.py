"""Alembic's entry: runs the revisions on the connection todoke hands in, or prints them."""

from typing import Any

from alembic import context

from todoke.database import Database

given: dict[str, Any] = context.config.attributes
database: Database = given["database"]
options: dict[str, Any] = {
    "version_table": database.version_table,
    "version_table_schema": database.schema,
    "transaction_per_migration": False,
}

if context.is_offline_mode():
    context.configure(
        url=given["url"], literal_binds=True, dialect_opts={"paramstyle": "named"}, **options
    )
else:
    context.configure(connection=given["connection"], **options)

with context.begin_transaction():
    context.run_migrations()
