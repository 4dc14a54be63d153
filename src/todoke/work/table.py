"""The shape of living work, of its history, and of the worker processes.

The claim index is (state, stream, lane, priority, id) and a claim writes none of its columns, so
that PostgreSQL can update the row in place (HOT). Settled rows leave the live table: it stays
small, whatever the history holds; what waits is not in the claim index either, except on MariaDB.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    false,
    literal_column,
    text,
)

from todoke.database import LONG_TEXT, UNIQUE_ID, Database, Moment
from todoke.work.item import HELD, LATER, READY, SUSPECT

# Ids are never used again, not even the highest after its row was deleted: fencing relies on it.
_BIG = BigInteger().with_variant(Integer, "sqlite")

# What a row takes along when it moves to history, to the dead letters and back.
CARRIED = (
    "message_id",
    "context",
    "stream",
    "priority",
    "type",
    "version",
    "aggregate",
    "key",
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
    "settles",
    "created_at",
)
# What tells how it went there.
TOLD = ("attempt", "spared", "crashes", "owner")
ERROR = ("error_class", "error_code", "error_message", "error_traceback")
# Where the settled row is all that is told of an attempt: when it was claimed, where, and by whom.
STAMP = ("env", "worker_name")


def carried_columns() -> list[Column[Any]]:
    return [
        Column("message_id", UNIQUE_ID, nullable=False),
        Column("context", String(100), nullable=False),
        Column("stream", String(302), nullable=False, server_default=""),
        Column("priority", SmallInteger, nullable=False, server_default="0"),
        Column("type", String(100), nullable=False),
        Column("version", Integer, nullable=False, server_default="1"),
        Column("aggregate", String(100), nullable=False),
        Column("key", String(255), nullable=False),
        Column("ordered", Boolean, nullable=False, server_default=false()),
        Column("followers", String(5), nullable=False, server_default="park"),
        Column("handler", String(200)),
        Column("body", LONG_TEXT, nullable=False),
        Column("headers", LONG_TEXT),
        Column("trace_context", String(255)),
        Column("key_id", String(100)),
        Column("signature", LONG_TEXT),
        Column("max_attempts", Integer),
        Column("deliver_before", Moment()),
        Column("expires_at", Moment()),
        Column("settles", UNIQUE_ID),
        Column("created_at", Moment(), nullable=False),
    ]


def told_columns() -> list[Column[Any]]:
    return [
        Column("attempt", Integer, nullable=False, server_default="0"),
        Column("spared", Integer, nullable=False, server_default="0"),
        Column("crashes", SmallInteger, nullable=False, server_default="0"),
        Column("owner", UNIQUE_ID),
    ]


def error_columns() -> list[Column[Any]]:
    return [
        Column("error_class", String(20)),
        Column("error_code", String(100)),
        Column("error_message", LONG_TEXT),
        Column("error_traceback", LONG_TEXT),
    ]


@dataclass(frozen=True, eq=False)
class WorkTable:
    """A live table and its history."""

    source: str
    live: Table
    history: Table

    @property
    def is_stamped(self) -> bool:
        """A settled row tells of its attempt, too."""
        return STAMP[0] in self.history.c


def work_table(
    source: str, name: str, metadata: MetaData, database: Database, *, stamped: bool = False
) -> WorkTable:
    live = Table(
        database.prefix + name,
        metadata,
        Column("id", _BIG, Identity(), primary_key=True),
        Column("state", String(8), nullable=False, server_default="ready"),
        *carried_columns(),
        *told_columns(),
        Column("strand", BigInteger, nullable=False, server_default="0"),
        Column("lane", SmallInteger, nullable=False, server_default="0"),
        Column("alone", Boolean, nullable=False, server_default=false()),
        Column("started", Boolean, nullable=False, server_default=false()),
        *error_columns(),
        Column("scheduled_at", Moment(), nullable=False),
        Column("claimed_at", Moment()),
        Column("updated_at", Moment(), nullable=False),
        schema=database.schema,
        sqlite_autoincrement=True,
    )
    due, held = text(f"state = '{LATER}'"), text(f"state = '{HELD}'")
    claim = (live.c.state, live.c.stream, live.c.lane, live.c.priority, live.c.id)
    claimable = text(f"state IN ('{READY}', '{SUSPECT}')")
    # SQLite does not see that `state = 'ready'` is among those.
    either = text(f"state = '{READY}' OR state = '{SUSPECT}'")
    Index(f"{live.name}_claim", *claim, postgresql_where=claimable, sqlite_where=either)
    by_state = () if database.partial_indexes else (live.c.state,)
    waiting = (*by_state, live.c.scheduled_at)
    Index(f"{live.name}_due", *waiting, postgresql_where=due, sqlite_where=due)
    Index(f"{live.name}_held", live.c.strand, live.c.id, postgresql_where=held, sqlite_where=held)
    history = _history(f"{name}_history", metadata, database, _stamp() if stamped else [])
    return WorkTable(source, live, history)


def in_state(live: Table, state: str) -> ColumnElement[bool]:
    """Written out: an index of some states is used only where the planner sees which it is."""
    return live.c.state == literal_column(f"'{state}'")


def _stamp() -> list[Column[Any]]:
    return [
        Column("claimed_at", Moment()),
        Column("env", String(100)),
        Column("worker_name", String(255)),
    ]


def _history(name: str, metadata: MetaData, database: Database, stamp: list[Column[Any]]) -> Table:
    history = Table(
        database.prefix + name,
        metadata,
        Column("id", _BIG, primary_key=True, autoincrement=False),
        *carried_columns(),
        *told_columns(),
        *error_columns(),
        Column("note", LONG_TEXT),
        *stamp,
        Column("settled_at", Moment(), nullable=False),
        schema=database.schema,
    )
    Index(f"{history.name}_settled", history.c.settled_at)
    Index(f"{history.name}_message", history.c.message_id)
    own = text("expires_at IS NOT NULL")
    expires = f"{history.name}_expires"
    Index(expires, history.c.expires_at, postgresql_where=own, sqlite_where=own)
    return history


def worker_table(metadata: MetaData, database: Database) -> Table:
    return Table(
        f"{database.prefix}workers",
        metadata,
        Column("id", UNIQUE_ID, primary_key=True),
        Column("name", String(255), nullable=False),
        Column("queues", LONG_TEXT, nullable=False),
        Column("contexts", LONG_TEXT),
        Column("registers", LONG_TEXT, nullable=False),
        Column("started_at", Moment(), nullable=False),
        Column("renewed_at", Moment(), nullable=False),
        Column("lease_until", Moment(), nullable=False),
        Column("stopping", Boolean, nullable=False, server_default=false()),
        schema=database.schema,
    )


def lane_table(metadata: MetaData, database: Database) -> Table:
    """Who may take the ordered work of each stream's lanes."""
    lanes = Table(
        f"{database.prefix}lanes",
        metadata,
        Column("stream", String(302), primary_key=True),
        Column("lane", SmallInteger, primary_key=True, autoincrement=False),
        Column("owner", UNIQUE_ID),
        schema=database.schema,
    )
    Index(f"{lanes.name}_owner", lanes.c.owner)
    return lanes


def hold_table(metadata: MetaData, database: Database) -> Table:
    """Strands whose head waits or is dead: nothing beyond the barrier may be taken."""
    holds = Table(
        f"{database.prefix}holds",
        metadata,
        Column("strand", BigInteger, primary_key=True, autoincrement=False),
        Column("source", String(20), nullable=False),
        Column("stream", String(302), nullable=False),
        Column("lane", SmallInteger, nullable=False),
        Column("barrier", BigInteger, nullable=False),
        Column("since", Moment(), nullable=False),
        schema=database.schema,
    )
    Index(f"{holds.name}_lane", holds.c.stream, holds.c.lane)
    return holds
