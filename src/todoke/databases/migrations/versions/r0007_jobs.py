"""Jobs: their work table, keys, slots, runs, cursors, batches, schedules and ticks."""

from typing import Any

import sqlalchemy as sa
from alembic import context, op

from todoke.databases.migrations.versions.r0001_first_tables import (
    BIG,
    MARIADB,
    MOMENT,
    OPTIONS,
    TEXT,
    UUID,
)

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    database = context.config.attributes["database"]
    prefix, schema = database.prefix, database.schema
    _work(f"{prefix}jobs", schema)
    _history(f"{prefix}jobs_history", schema)
    _keys(prefix, schema)
    _runs(f"{prefix}job_runs", schema)
    _run_history(prefix, schema)
    _of_people(prefix, schema)
    _batches(f"{prefix}batches", schema)
    _schedules(prefix, schema)
    _give_room(f"{prefix}jobs", schema)


def _is_mariadb() -> bool:
    return op.get_context().dialect.name in MARIADB


# MariaDB commits each of these by itself: whoever comes after a run that died finds some done.
def _create(name: str, *columns: sa.Column[Any], **options: Any) -> None:
    op.create_table(name, *columns, if_not_exists=_is_mariadb(), **OPTIONS, **options)


def _index(
    name: str, table: str, columns: list[str], schema: str | None, *, where: str | None = None
) -> None:
    some = None if where is None else sa.text(where)
    op.create_index(
        f"{table}_{name}",
        table,
        columns,
        schema=schema,
        if_not_exists=_is_mariadb(),
        postgresql_where=some,
        sqlite_where=some,
    )


def _carried() -> list[sa.Column[Any]]:
    return [
        sa.Column("message_id", UUID, nullable=False),
        sa.Column("context", sa.String(100), nullable=False),
        sa.Column("stream", sa.String(302), nullable=False, server_default=""),
        sa.Column("priority", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("type", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("aggregate", sa.String(100), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("ordered", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("followers", sa.String(5), nullable=False, server_default="park"),
        sa.Column("handler", sa.String(200)),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("headers", TEXT),
        sa.Column("trace_context", sa.String(255)),
        sa.Column("key_id", sa.String(100)),
        sa.Column("signature", TEXT),
        sa.Column("max_attempts", sa.Integer),
        sa.Column("deliver_before", MOMENT),
        sa.Column("expires_at", MOMENT),
        sa.Column("settles", UUID),
        sa.Column("created_at", MOMENT, nullable=False),
    ]


def _told() -> list[sa.Column[Any]]:
    return [
        sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
        sa.Column("spared", sa.Integer, nullable=False, server_default="0"),
        sa.Column("crashes", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("owner", UUID),
    ]


def _error() -> list[sa.Column[Any]]:
    return [
        sa.Column("error_class", sa.String(20)),
        sa.Column("error_code", sa.String(100)),
        sa.Column("error_message", TEXT),
        sa.Column("error_traceback", TEXT),
    ]


def _work(name: str, schema: str | None) -> None:
    _create(
        name,
        sa.Column("id", BIG, sa.Identity(), primary_key=True),
        sa.Column("state", sa.String(8), nullable=False, server_default="ready"),
        *_carried(),
        *_told(),
        sa.Column("strand", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("lane", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("alone", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("started", sa.Boolean, nullable=False, server_default=sa.false()),
        *_error(),
        sa.Column("scheduled_at", MOMENT, nullable=False),
        sa.Column("claimed_at", MOMENT),
        sa.Column("updated_at", MOMENT, nullable=False),
        schema=schema,
        sqlite_autoincrement=True,
    )
    op.create_index(
        f"{name}_claim",
        name,
        ["state", "stream", "lane", "priority", "id"],
        schema=schema,
        if_not_exists=_is_mariadb(),
        postgresql_where=sa.text("state IN ('ready', 'suspect')"),
    )
    # Without indexes of some rows the state comes first instead.
    waiting = ["state", "scheduled_at"] if _is_mariadb() else ["scheduled_at"]
    _index("due", name, waiting, schema, where="state = 'later'")
    _index("held", name, ["strand", "id"], schema, where="state = 'held'")
    turns = ["strand", "priority", "id"]
    _index(
        "turns", name, ["state", *turns] if _is_mariadb() else turns, schema, where="state = 'held'"
    )
    _index("message", name, ["message_id"], schema)


def _history(name: str, schema: str | None) -> None:
    _create(
        name,
        sa.Column("id", BIG, primary_key=True, autoincrement=False),
        *_carried(),
        *_told(),
        *_error(),
        sa.Column("note", TEXT),
        sa.Column("claimed_at", MOMENT),
        sa.Column("env", sa.String(100)),
        sa.Column("worker_name", sa.String(255)),
        sa.Column("settled_at", MOMENT, nullable=False),
        schema=schema,
    )
    _index("settled", name, ["settled_at"], schema)
    _index("handler", name, ["handler", "settled_at"], schema)
    _index("message", name, ["message_id"], schema)
    _index("expires", name, ["expires_at"], schema, where="expires_at IS NOT NULL")


def _keys(prefix: str, schema: str | None) -> None:
    unique, slots = f"{prefix}unique_keys", f"{prefix}key_slots"
    _create(
        unique,
        sa.Column("context", sa.String(100), primary_key=True),
        sa.Column("key", sa.String(255), primary_key=True),
        sa.Column("job_id", UUID, nullable=False),
        sa.Column("taken_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT),
        schema=schema,
    )
    _index("job", unique, ["job_id"], schema)
    _index("expires", unique, ["expires_at"], schema, where="expires_at IS NOT NULL")
    _create(
        slots,
        sa.Column("strand", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("number", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("owner", UUID, nullable=False),
        schema=schema,
    )
    _index("owner", slots, ["owner"], schema)


def _runs(name: str, schema: str | None) -> None:
    _create(
        name,
        sa.Column("id", UUID, primary_key=True),
        sa.Column("job_id", UUID, nullable=False),
        sa.Column("context", sa.String(100), nullable=False),
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("env", sa.String(100), nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("status", sa.String(9), nullable=False),
        sa.Column("worker", UUID),
        sa.Column("worker_name", sa.String(255)),
        sa.Column("processed", sa.BigInteger),
        sa.Column("total", sa.BigInteger),
        sa.Column("metrics", TEXT),
        sa.Column("log", TEXT),
        sa.Column("result", TEXT),
        sa.Column("note", TEXT),
        *_error(),
        sa.Column("schedule", sa.String(200)),
        sa.Column("tick", MOMENT),
        sa.Column("started_at", MOMENT),
        sa.Column("finished_at", MOMENT),
        schema=schema,
    )
    _index("job", name, ["job", "id"], schema)
    _index("of", name, ["job_id"], schema)
    _index("running", name, ["status", "worker"], schema, where="status = 'RUNNING'")


def _run_history(prefix: str, schema: str | None) -> None:
    """Every attempt: those with a row of their own, and those that their settled row tells of."""
    quote = op.get_context().dialect.identifier_preparer.quote

    def named(name: str) -> str:
        full = quote(prefix + name)
        return f"{quote(schema)}.{full}" if schema else full

    settled = {
        "id": "message_id",
        "job_id": "message_id",
        "job": "handler",
        "attempt": "attempt - spared",
        "status": "'SUCCEEDED'",
        "worker": "owner",
        "started_at": "claimed_at",
        "finished_at": "settled_at",
        **{name: name for name in ("context", "env", "worker_name")},
    }
    own = ", ".join(_RUN)
    told = ", ".join(settled.get(name, "NULL") for name in _RUN)
    # MariaDB's views ask for the rights of whoever created them, unless told otherwise.
    create = "CREATE OR REPLACE SQL SECURITY INVOKER" if _is_mariadb() else "CREATE"
    op.execute(
        f"{create} VIEW {named('job_run_history')} AS SELECT {own} FROM {named('job_runs')} "  # noqa: S608
        f"UNION ALL SELECT {told} FROM {named('jobs_history')} WHERE worker_name IS NOT NULL"
    )


_RUN = (
    *("id", "job_id", "context", "job", "env", "attempt", "status", "worker", "worker_name"),
    *("processed", "total", "metrics", "log", "result", "note"),
    *("error_class", "error_code", "error_message", "error_traceback"),
    *("schedule", "tick", "started_at", "finished_at"),
)


def _of_people(prefix: str, schema: str | None) -> None:
    _create(
        f"{prefix}job_cursors",
        sa.Column("job_id", UUID, primary_key=True),
        sa.Column("name", sa.String(100), primary_key=True),
        sa.Column("cursor", TEXT, nullable=False),
        sa.Column("processed", sa.BigInteger, nullable=False),
        sa.Column("updated_at", MOMENT, nullable=False),
        schema=schema,
    )
    _create(
        f"{prefix}cancellations",
        sa.Column("job_id", UUID, primary_key=True),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("asked_at", MOMENT, nullable=False),
        schema=schema,
    )
    _create(
        f"{prefix}pauses",
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("name", sa.String(255), primary_key=True),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        schema=schema,
    )


def _batches(name: str, schema: str | None) -> None:
    _create(
        name,
        sa.Column("id", UUID, primary_key=True),
        sa.Column("context", sa.String(100), nullable=False),
        sa.Column("name", sa.String(200)),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("pending", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False, server_default="0"),
        sa.Column("then_job", TEXT),
        sa.Column("failed_job", TEXT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT),
        schema=schema,
    )


def _schedules(prefix: str, schema: str | None) -> None:
    ticks = f"{prefix}ticks"
    _create(
        f"{prefix}schedules",
        sa.Column("application", sa.String(100), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("context", sa.String(100), nullable=False),
        sa.Column("job", sa.String(200), nullable=False),
        sa.Column("timetable", sa.String(255), nullable=False),
        sa.Column("zone", sa.String(100), nullable=False),
        sa.Column("policy", sa.String(255), nullable=False),
        sa.Column("accounted", MOMENT, nullable=False),
        sa.Column("last_job", UUID),
        sa.Column("updated_at", MOMENT, nullable=False),
        schema=schema,
    )
    _create(
        ticks,
        sa.Column("application", sa.String(100), primary_key=True),
        sa.Column("schedule", sa.String(200), primary_key=True),
        sa.Column("due", MOMENT, primary_key=True),
        sa.Column("last_due", MOMENT),
        sa.Column("count", sa.Integer, nullable=False, server_default="1"),
        sa.Column("status", sa.String(8), nullable=False),
        sa.Column("reason", TEXT),
        sa.Column("job_id", UUID),
        sa.Column("noted_at", MOMENT, nullable=False),
        schema=schema,
    )
    _index("noted", ticks, ["noted_at"], schema)
    waiting = ["status", "application", "schedule", "due"]
    _index("waiting", ticks, waiting, schema, where="status = 'WAITING'")


def _give_room(name: str, schema: str | None) -> None:
    """As for the other work tables: a claim's new row versions stay in their page."""
    dialect = op.get_context().dialect
    if dialect.name == "postgresql":
        quoted = dialect.identifier_preparer.format_table(sa.table(name, schema=schema))
        op.execute(f"ALTER TABLE {quoted} SET (fillfactor = 45)")
