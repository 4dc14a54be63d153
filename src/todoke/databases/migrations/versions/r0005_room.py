"""Pages of the live tables are filled by half on PostgreSQL.

A claim writes a new version of each of its rows. With room for all of them in the same page none of
them needs new entries in the indexes.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    dialect = op.get_context().dialect
    if dialect.name != "postgresql":
        return
    database = context.config.attributes["database"]
    for name in (f"{database.prefix}outbox", f"{database.prefix}inbox"):
        table = sa.table(name, schema=database.schema)
        quoted = dialect.identifier_preparer.format_table(table)
        op.execute(f"ALTER TABLE {quoted} SET (fillfactor = 45)")
