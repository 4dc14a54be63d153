"""Alembic's entry: runs the revisions on the connection todoke hands in, or prints them."""

from alembic import context

given = context.config.attributes
database = given["database"]
options = {
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
