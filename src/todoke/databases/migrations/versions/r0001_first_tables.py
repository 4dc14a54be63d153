"""The first tables: outbox, inbox, dead letters, operations, workers, and a view for people."""

from typing import Any

import sqlalchemy as sa
from alembic import context, op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
MARIADB = ("mariadb", "mysql")
MOMENT = sa.DateTime(timezone=True).with_variant(mysql.DATETIME(fsp=6), *MARIADB)
TEXT = sa.Text().with_variant(mysql.LONGTEXT(), *MARIADB)
UUID = sa.Uuid().with_variant(sa.Uuid(native_uuid=False), *MARIADB)
# Keys are compared byte by byte: case, accents and trailing blanks matter.
STORED = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_nopad_bin"}
OPTIONS = {f"{name}_{option}": value for name in MARIADB for option, value in STORED.items()}


def upgrade() -> None:
    database = context.config.attributes["database"]
    for name in ("outbox", "inbox"):
        _work(database.prefix + name, database.schema)
        _history(f"{database.prefix}{name}_history", database.schema)
    _dead_letters(database.prefix, database.schema)
    _workers(database.prefix, database.schema)
    _view(database.prefix, database.schema)


def _is_mariadb() -> bool:
    return op.get_context().dialect.name in MARIADB


# MariaDB commits each of these by itself: whoever comes after a run that died finds some done.
def _create_table(name: str, *columns: sa.Column[Any], **options: Any) -> None:
    op.create_table(name, *columns, if_not_exists=_is_mariadb(), **OPTIONS, **options)


def _create_index(name: str, table: str, columns: list[str], **options: Any) -> None:
    op.create_index(name, table, columns, if_not_exists=_is_mariadb(), **options)


def _carried() -> list[sa.Column[Any]]:
    return [
        sa.Column("message_id", UUID, nullable=False),
        sa.Column("context", sa.String(100), nullable=False),
        sa.Column("queue", sa.String(100), nullable=False, server_default="default"),
        sa.Column("priority", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("type", sa.String(100), nullable=False),
        sa.Column("version", sa.Integer, nullable=False, server_default="1"),
        sa.Column("aggregate", sa.String(100), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("lane", sa.SmallInteger, nullable=False, server_default="0"),
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
    _create_table(
        name,
        sa.Column("id", BIG, sa.Identity(), primary_key=True),
        sa.Column("state", sa.String(8), nullable=False, server_default="ready"),
        *_carried(),
        *_told(),
        sa.Column("alone", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("started", sa.Boolean, nullable=False, server_default=sa.false()),
        *_error(),
        sa.Column("scheduled_at", MOMENT, nullable=False),
        sa.Column("claimed_at", MOMENT),
        sa.Column("updated_at", MOMENT, nullable=False),
        schema=schema,
        sqlite_autoincrement=True,
    )
    due = sa.text("state = 'later'")
    # Without partial indexes the state comes first instead.
    waiting = ["state", "scheduled_at"] if _is_mariadb() else ["scheduled_at"]
    _create_index(f"{name}_claim", name, ["state", "queue", "priority", "id"], schema=schema)
    _create_index(
        f"{name}_due",
        name,
        waiting,
        schema=schema,
        postgresql_where=due,
        sqlite_where=due,
    )


def _history(name: str, schema: str | None) -> None:
    _create_table(
        name,
        sa.Column("id", BIG, primary_key=True, autoincrement=False),
        *_carried(),
        *_told(),
        *_error(),
        sa.Column("note", TEXT),
        sa.Column("settled_at", MOMENT, nullable=False),
        schema=schema,
    )
    _create_index(f"{name}_settled", name, ["settled_at"], schema=schema)
    _create_index(f"{name}_message", name, ["message_id"], schema=schema)


def _dead_letters(prefix: str, schema: str | None) -> None:
    name = f"{prefix}dead_letters"
    _create_table(
        name,
        sa.Column("id", UUID, primary_key=True),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("item_id", sa.BigInteger, nullable=False),
        *_carried(),
        *_told(),
        *_error(),
        sa.Column("died_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT),
        sa.Column("corrected_body", TEXT),
        sa.Column("closed_at", MOMENT),
        sa.Column("closed_as", sa.String(10)),
        sa.Column("operation_id", sa.BigInteger),
        schema=schema,
    )
    _create_index(f"{name}_open", name, ["closed_at", "died_at", "id"], schema=schema)
    _create_index(f"{name}_message", name, ["message_id"], schema=schema)
    _create_table(
        f"{prefix}operations",
        sa.Column("id", BIG, sa.Identity(), primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("selection", TEXT, nullable=False),
        sa.Column("selected", sa.Integer, nullable=False),
        sa.Column("author", sa.String(255), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("done_at", MOMENT, nullable=False),
        schema=schema,
        sqlite_autoincrement=True,
    )


def _workers(prefix: str, schema: str | None) -> None:
    _create_table(
        f"{prefix}workers",
        sa.Column("id", UUID, primary_key=True),
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("queues", TEXT, nullable=False),
        sa.Column("registers", TEXT, nullable=False),
        sa.Column("started_at", MOMENT, nullable=False),
        sa.Column("renewed_at", MOMENT, nullable=False),
        sa.Column("lease_until", MOMENT, nullable=False),
        sa.Column("stopping", sa.Boolean, nullable=False, server_default=sa.false()),
        schema=schema,
    )


def _view(prefix: str, schema: str | None) -> None:
    quote = op.get_context().dialect.identifier_preparer.quote

    def named(name: str) -> str:
        full = quote(prefix + name)
        return f"{quote(schema)}.{full}" if schema else full

    shared = (
        f"message_id, context, aggregate, {quote('key')}, type, version, handler, body, "
        "attempt - spared AS attempts, max_attempts, error_code, error_message, created_at"
    )
    parts = []
    for name in ("outbox", "inbox"):
        taken = "CASE WHEN owner IS NULL THEN 'PENDING' ELSE 'PROCESSING' END"
        parts += [
            f"SELECT {taken} AS status, {shared}, scheduled_at, NULL AS settled_at "  # noqa: S608
            f"FROM {named(name)}",
            f"SELECT 'PROCESSED', {shared}, NULL, settled_at "  # noqa: S608
            f"FROM {named(name + '_history')}",
        ]
    parts.append(
        f"SELECT 'DEAD', {shared}, NULL, died_at FROM {named('dead_letters')} "  # noqa: S608
        "WHERE closed_as IS NULL OR closed_as <> 'redriven'"
    )
    union = " UNION ALL ".join(parts)
    # MariaDB's views ask for the rights of whoever created them, unless told otherwise.
    create = "CREATE OR REPLACE SQL SECURITY INVOKER" if _is_mariadb() else "CREATE"
    op.execute(f"{create} VIEW {named('outbox_events')} AS {union}")
