"""The claim index holds what can be claimed, where a database has indexes of some rows only.

Held and later rows leave it: it stays small however many wait, and nothing is written to it when
a row begins to wait.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    # SQLite does not see that `state = 'ready'` is among the states of such an index.
    if op.get_context().dialect.name != "postgresql":
        return
    database = context.config.attributes["database"]
    for name in (f"{database.prefix}outbox", f"{database.prefix}inbox"):
        op.drop_index(f"{name}_claim", name, schema=database.schema)
        op.create_index(
            f"{name}_claim",
            name,
            ["state", "stream", "lane", "priority", "id"],
            schema=database.schema,
            postgresql_where=sa.text("state IN ('ready', 'suspect')"),
        )
