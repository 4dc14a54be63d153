"""The ledger's table."""

from __future__ import annotations

from sqlalchemy import Column, Double, Index, Integer, MetaData, SmallInteger, String, Table, text

from todoke.database import LONG_TEXT, UNIQUE_ID, Database, Moment


def ledger_table(metadata: MetaData, database: Database) -> Table:
    """One row per key; its id is a hash of the scope, and `message_id` tells acceptances apart."""
    ledger = Table(
        f"{database.prefix}ledger",
        metadata,
        Column("id", UNIQUE_ID, primary_key=True),
        Column("tenant", String(255), nullable=False),
        Column("caller", String(255), nullable=False),
        Column("operation", String(255), nullable=False),
        Column("key", String(255), nullable=False),
        Column("digest", String(64), nullable=False),
        Column("state", String(9), nullable=False),
        Column("message_id", UNIQUE_ID, nullable=False),
        # So many deliveries have to end well; an event with one handler has one.
        Column("waits", SmallInteger, nullable=False, server_default="1"),
        Column("keeps", Double, nullable=False),
        Column("status_code", Integer),
        Column("response", LONG_TEXT),
        Column("error_code", String(100)),
        Column("error_message", LONG_TEXT),
        Column("accepted_at", Moment(), nullable=False),
        Column("settled_at", Moment()),
        Column("expires_at", Moment()),
        schema=database.schema,
    )
    Index(f"{ledger.name}_key", ledger.c.key)
    Index(f"{ledger.name}_accepted", ledger.c.accepted_at)
    settled = text("expires_at IS NOT NULL")
    expires = f"{ledger.name}_expires"
    Index(expires, ledger.c.expires_at, postgresql_where=settled, sqlite_where=settled)
    return ledger
