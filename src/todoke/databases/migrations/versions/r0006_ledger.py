"""The ledger, and which of its entries a message settles."""

import sqlalchemy as sa
from alembic import context, op

from todoke.databases.migrations.versions.r0001_first_tables import (
    MARIADB,
    MOMENT,
    OPTIONS,
    TEXT,
    UUID,
)

revision = "0006"
down_revision = "0005"

_CARRY = ("outbox", "inbox", "outbox_history", "inbox_history", "dead_letters")


def upgrade() -> None:
    database = context.config.attributes["database"]
    prefix, schema = database.prefix, database.schema
    for name in _CARRY:
        # MariaDB commits each by itself: whoever comes after a run that died finds some done.
        column = sa.Column("settles", UUID)
        op.add_column(prefix + name, column, schema=schema, if_not_exists=_is_mariadb() or None)
    _ledger(f"{prefix}ledger", schema)


def _is_mariadb() -> bool:
    return op.get_context().dialect.name in MARIADB


def _ledger(name: str, schema: str | None) -> None:
    op.create_table(
        name,
        sa.Column("id", UUID, primary_key=True),
        sa.Column("tenant", sa.String(255), nullable=False),
        sa.Column("caller", sa.String(255), nullable=False),
        sa.Column("operation", sa.String(255), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("state", sa.String(9), nullable=False),
        sa.Column("message_id", UUID, nullable=False),
        sa.Column("waits", sa.SmallInteger, nullable=False, server_default="1"),
        sa.Column("keeps", sa.Double, nullable=False),
        sa.Column("status_code", sa.Integer),
        sa.Column("response", TEXT),
        sa.Column("error_code", sa.String(100)),
        sa.Column("error_message", TEXT),
        sa.Column("accepted_at", MOMENT, nullable=False),
        sa.Column("settled_at", MOMENT),
        sa.Column("expires_at", MOMENT),
        schema=schema,
        if_not_exists=_is_mariadb(),
        **OPTIONS,
    )
    settled = sa.text("expires_at IS NOT NULL")
    for index, column, where in (
        ("key", "key", None),
        ("accepted", "accepted_at", None),
        ("expires", "expires_at", settled),
    ):
        op.create_index(
            f"{name}_{index}",
            name,
            [column],
            schema=schema,
            if_not_exists=_is_mariadb(),
            postgresql_where=where,
            sqlite_where=where,
        )
