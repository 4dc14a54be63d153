"""What waits is not in the claim index on SQLite either.

It was, and SQLite took that index to find what is due: each look read all that waits for later.
"""

import sqlalchemy as sa
from alembic import context, op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    if op.get_context().dialect.name != "sqlite":
        return
    prefix = context.config.attributes["database"].prefix
    for name in (f"{prefix}outbox", f"{prefix}inbox", f"{prefix}jobs"):
        op.drop_index(f"{name}_claim", name)
        op.create_index(
            f"{name}_claim",
            name,
            ["state", "stream", "lane", "priority", "id"],
            # An OR, since SQLite does not see that `state = 'ready'` is among those of an IN.
            sqlite_where=sa.text("state = 'ready' OR state = 'suspect'"),
        )
