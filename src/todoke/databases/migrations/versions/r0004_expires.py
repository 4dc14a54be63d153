"""History rows that have a clean-up date of their own are found by it."""

import sqlalchemy as sa
from alembic import context, op

from todoke.databases.migrations.versions.r0001_first_tables import MARIADB

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    database = context.config.attributes["database"]
    own = sa.text("expires_at IS NOT NULL")
    for name in (f"{database.prefix}outbox_history", f"{database.prefix}inbox_history"):
        op.create_index(
            f"{name}_expires",
            name,
            ["expires_at"],
            schema=database.schema,
            # MariaDB commits each by itself: whoever comes after a run that died finds one done.
            if_not_exists=op.get_context().dialect.name in MARIADB,
            postgresql_where=own,
            sqlite_where=own,
        )
