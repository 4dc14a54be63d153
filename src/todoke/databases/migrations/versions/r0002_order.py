"""Order within a key: streams, strands, lanes and holds; destinations with their slots.

Rows that are waiting get their stream and their strand. Printed as SQL, where nothing can be
computed, they give up their order instead.
"""

from hashlib import blake2b
from typing import Any

import sqlalchemy as sa
from alembic import context, op

from todoke.databases.migrations.versions.r0001_first_tables import (
    MARIADB,
    MOMENT,
    OPTIONS,
    TEXT,
    UUID,
)

revision = "0002"
down_revision = "0001"

STREAM = sa.String(302)
DEFAULT_QUEUE = "default"
LANES, UNORDERED = 64, -1


def upgrade() -> None:
    database = context.config.attributes["database"]
    prefix, schema = database.prefix, database.schema
    for name in ("outbox", "inbox"):
        _stream(prefix + name, schema)
        _place(prefix + name, schema)
        _stream(f"{prefix}{name}_history", schema, indexed=False)
        _drop(f"{prefix}{name}_history", "lane", schema)
    _stream(f"{prefix}dead_letters", schema, indexed=False)
    _drop(f"{prefix}dead_letters", "lane", schema)
    op.create_index(
        f"{prefix}dead_letters_item",
        f"{prefix}dead_letters",
        ["item_id"],
        schema=schema,
        if_not_exists=_is_mariadb(),
    )
    _add(f"{prefix}workers", sa.Column("contexts", TEXT), schema)
    _lanes_and_holds(prefix, schema)
    _destinations(prefix, schema)
    if _is_mariadb():
        _strand_locks(prefix)


def _is_mariadb() -> bool:
    return op.get_context().dialect.name in MARIADB


def _stream(name: str, schema: str | None, *, indexed: bool = True) -> None:
    """`queue` becomes `stream`: the context, and its queue."""
    _add(name, sa.Column("stream", STREAM, nullable=False, server_default=""), schema)
    columns = (sa.column("stream", sa.String), sa.column("context", sa.String))
    table = sa.table(name, *columns, schema=schema)
    stream = table.c.context.concat(f"/{DEFAULT_QUEUE}")
    op.execute(table.update().where(table.c.stream == "").values(stream=stream))
    if indexed:
        op.drop_index(f"{name}_claim", name, schema=schema, if_exists=_is_mariadb())
    _drop(name, "queue", schema)


def _place(name: str, schema: str | None) -> None:
    """Where each waiting row stands in the order."""
    _add(name, sa.Column("strand", sa.BigInteger, nullable=False, server_default="0"), schema)
    texts = ("stream", "aggregate", "key", "handler")
    table = sa.table(
        name,
        sa.column("id", sa.BigInteger),
        *(sa.column(text, sa.String) for text in texts),
        sa.column("ordered", sa.Boolean),
        sa.column("strand", sa.BigInteger),
        sa.column("lane", sa.SmallInteger),
        schema=schema,
    )
    if context.is_offline_mode():
        op.execute(table.update().values(ordered=sa.false(), lane=UNORDERED))
    else:
        _compute_places(table)
    held = sa.text("state = 'held'")
    for index, indexed, where in (
        ("claim", ["state", "stream", "lane", "priority", "id"], None),
        ("held", ["strand", "id"], held),
    ):
        op.create_index(
            f"{name}_{index}",
            name,
            indexed,
            schema=schema,
            if_not_exists=_is_mariadb(),
            postgresql_where=where,
            sqlite_where=where,
        )


def _compute_places(table: Any) -> None:
    connection = op.get_bind()
    this = table.update().where(table.c.id == sa.bindparam("this"))
    change = this.values(strand=sa.bindparam("new_strand"), lane=sa.bindparam("new_lane"))
    rows = connection.execute(sa.select(table)).all()
    places = [{"this": row.id, **_place_of(row)} for row in rows]
    if places:
        connection.execute(change, places)


def _place_of(row: Any) -> dict[str, int]:
    if not row.ordered:
        return {"new_strand": 0, "new_lane": UNORDERED}
    text = "\0".join((row.stream, row.aggregate, row.key, row.handler or ""))
    digest = blake2b(text.encode(), digest_size=8).digest()
    strand = int.from_bytes(digest, "big", signed=True)
    return {"new_strand": strand, "new_lane": strand % LANES}


def _lanes_and_holds(prefix: str, schema: str | None) -> None:
    _create(
        f"{prefix}lanes",
        sa.Column("stream", STREAM, primary_key=True),
        sa.Column("lane", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("owner", UUID),
        schema=schema,
    )
    _index(f"{prefix}lanes_owner", f"{prefix}lanes", ["owner"], schema)
    _create(
        f"{prefix}holds",
        sa.Column("strand", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("source", sa.String(20), nullable=False),
        sa.Column("stream", STREAM, nullable=False),
        sa.Column("lane", sa.SmallInteger, nullable=False),
        sa.Column("barrier", sa.BigInteger, nullable=False),
        sa.Column("since", MOMENT, nullable=False),
        schema=schema,
    )
    _index(f"{prefix}holds_lane", f"{prefix}holds", ["stream", "lane"], schema)


def _destinations(prefix: str, schema: str | None) -> None:
    _create(
        f"{prefix}destinations",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("open_until", MOMENT),
        sa.Column("opened_at", MOMENT),
        sa.Column("tokens", sa.Double),
        sa.Column("refilled_at", MOMENT),
        sa.Column("updated_at", MOMENT, nullable=False),
        schema=schema,
    )
    _create(
        f"{prefix}slots",
        sa.Column("destination", sa.String(200), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("owner", UUID),
        schema=schema,
    )


def _strand_locks(prefix: str) -> None:
    """Rows to lock; all there from the start, so that nobody waits for a gap between them."""
    name = f"{prefix}strands"
    number = sa.Column("number", sa.SmallInteger, primary_key=True, autoincrement=False)
    _create(name, number)
    quoted = op.get_context().dialect.identifier_preparer.quote(name)
    count = "WITH RECURSIVE n AS (SELECT 0 AS x UNION ALL SELECT x + 1 FROM n WHERE x < 63)"
    op.execute(
        f"INSERT IGNORE INTO {quoted} (number) {count} "  # noqa: S608
        "SELECT a.x * 64 + b.x FROM n AS a CROSS JOIN n AS b"
    )


# MariaDB commits each of these by itself: whoever comes after a run that died finds some done.
def _create(name: str, *columns: sa.Column[Any], **options: Any) -> None:
    op.create_table(name, *columns, if_not_exists=_is_mariadb(), **OPTIONS, **options)


def _index(name: str, table: str, columns: list[str], schema: str | None) -> None:
    op.create_index(name, table, columns, schema=schema, if_not_exists=_is_mariadb())


def _add(table: str, column: sa.Column[Any], schema: str | None) -> None:
    op.add_column(table, column, schema=schema, if_not_exists=_is_mariadb() or None)


def _drop(table: str, column: str, schema: str | None) -> None:
    op.drop_column(table, column, schema=schema, if_exists=_is_mariadb() or None)
