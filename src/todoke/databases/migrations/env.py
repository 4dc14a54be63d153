"""Alembic's entry: runs the revisions on the connection todoke hands in, or prints them."""

from alembic import context

from todoke.databases.schema import VERSION_TABLE

given = context.config.attributes
options = {
    "version_table": VERSION_TABLE,
    "version_table_schema": given["database"].schema,
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
