"""The shape of living work, of its history, and of the worker processes.

The claim index is (state, queue, priority, id) and a claim writes none of its columns, so that
PostgreSQL can update the row in place (HOT). Settled rows leave the live table: it stays small,
whatever the history holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    Uuid,
    false,
    text,
)

from todoke.database import Database, Moment
from todoke.work.item import LATER

# Ids are never used again, not even the highest after its row was deleted: fencing relies on it.
_BIG = BigInteger().with_variant(Integer, "sqlite")

# What a row takes along when it moves to history, to the dead letters and back.
CARRIED = (
    "message_id",
    "context",
    "queue",
    "priority",
    "type",
    "version",
    "aggregate",
    "key",
    "lane",
    "ordered",
    "followers",
    "handler",
    "body",
    "headers",
    "trace_context",
    "key_id",
    "signature",
    "max_attempts",
    "deliver_before",
    "expires_at",
    "created_at",
)
# What tells how it went there.
TOLD = ("attempt", "spared", "crashes", "owner")
ERROR = ("error_class", "error_code", "error_message", "error_traceback")


def carried_columns() -> list[Column[Any]]:
    return [
        Column("message_id", Uuid(), nullable=False),
        Column("context", String(100), nullable=False),
        Column("queue", String(100), nullable=False, server_default="default"),
        Column("priority", SmallInteger, nullable=False, server_default="0"),
        Column("type", String(100), nullable=False),
        Column("version", Integer, nullable=False, server_default="1"),
        Column("aggregate", String(100), nullable=False),
        Column("key", String(255), nullable=False),
        Column("lane", SmallInteger, nullable=False, server_default="0"),
        Column("ordered", Boolean, nullable=False, server_default=false()),
        Column("followers", String(5), nullable=False, server_default="park"),
        Column("handler", String(200)),
        Column("body", Text, nullable=False),
        Column("headers", Text),
        Column("trace_context", String(255)),
        Column("key_id", String(100)),
        Column("signature", Text),
        Column("max_attempts", Integer),
        Column("deliver_before", Moment()),
        Column("expires_at", Moment()),
        Column("created_at", Moment(), nullable=False),
    ]


def told_columns() -> list[Column[Any]]:
    return [
        Column("attempt", Integer, nullable=False, server_default="0"),
        Column("spared", Integer, nullable=False, server_default="0"),
        Column("crashes", SmallInteger, nullable=False, server_default="0"),
        Column("owner", Uuid()),
    ]


def error_columns() -> list[Column[Any]]:
    return [
        Column("error_class", String(20)),
        Column("error_code", String(100)),
        Column("error_message", Text),
        Column("error_traceback", Text),
    ]


@dataclass(frozen=True, eq=False)
class WorkTable:
    """A live table and its history."""

    source: str
    live: Table
    history: Table


def work_table(source: str, name: str, metadata: MetaData, database: Database) -> WorkTable:
    live = Table(
        database.prefix + name,
        metadata,
        Column("id", _BIG, Identity(), primary_key=True),
        Column("state", String(8), nullable=False, server_default="ready"),
        *carried_columns(),
        *told_columns(),
        Column("alone", Boolean, nullable=False, server_default=false()),
        Column("started", Boolean, nullable=False, server_default=false()),
        *error_columns(),
        Column("scheduled_at", Moment(), nullable=False),
        Column("claimed_at", Moment()),
        Column("updated_at", Moment(), nullable=False),
        schema=database.schema,
        sqlite_autoincrement=True,
        postgresql_with={"fillfactor": 70},
    )
    due = text(f"state = '{LATER}'")
    Index(f"{live.name}_claim", live.c.state, live.c.queue, live.c.priority, live.c.id)
    Index(f"{live.name}_due", live.c.scheduled_at, postgresql_where=due, sqlite_where=due)
    return WorkTable(source, live, _history(f"{name}_history", metadata, database))


def _history(name: str, metadata: MetaData, database: Database) -> Table:
    history = Table(
        database.prefix + name,
        metadata,
        Column("id", _BIG, primary_key=True, autoincrement=False),
        *carried_columns(),
        *told_columns(),
        *error_columns(),
        Column("note", Text),
        Column("settled_at", Moment(), nullable=False),
        schema=database.schema,
    )
    Index(f"{history.name}_settled", history.c.settled_at)
    Index(f"{history.name}_message", history.c.message_id)
    return history


def worker_table(metadata: MetaData, database: Database) -> Table:
    return Table(
        f"{database.prefix}workers",
        metadata,
        Column("id", Uuid(), primary_key=True),
        Column("name", String(255), nullable=False),
        Column("queues", Text, nullable=False),
        Column("registers", Text, nullable=False),
        Column("started_at", Moment(), nullable=False),
        Column("renewed_at", Moment(), nullable=False),
        Column("lease_until", Moment(), nullable=False),
        Column("stopping", Boolean, nullable=False, server_default=false()),
        schema=database.schema,
    )
