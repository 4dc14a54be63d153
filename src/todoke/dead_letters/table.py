"""The dead letters and the operations people did on them."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    MetaData,
    String,
    Table,
)

from todoke.database import LONG_TEXT, UNIQUE_ID, Database, Moment
from todoke.work.table import carried_columns, error_columns, told_columns

_BIG = BigInteger().with_variant(Integer, "sqlite")


@dataclass(frozen=True, eq=False)
class DeadLetterTables:
    letters: Table
    operations: Table


def dead_letter_tables(metadata: MetaData, database: Database) -> DeadLetterTables:
    letters = Table(
        f"{database.prefix}dead_letters",
        metadata,
        Column("id", UNIQUE_ID, primary_key=True),
        Column("source", String(20), nullable=False),
        Column("name", String(200), nullable=False),
        Column("item_id", BigInteger, nullable=False),
        *carried_columns(),
        *told_columns(),
        *error_columns(),
        Column("died_at", Moment(), nullable=False),
        Column("seen_at", Moment()),
        Column("corrected_body", LONG_TEXT),
        Column("closed_at", Moment()),
        Column("closed_as", String(10)),
        Column("operation_id", BigInteger),
        schema=database.schema,
    )
    Index(f"{letters.name}_open", letters.c.closed_at, letters.c.died_at, letters.c.id)
    Index(f"{letters.name}_message", letters.c.message_id)
    Index(f"{letters.name}_item", letters.c.item_id)
    operations = Table(
        f"{database.prefix}operations",
        metadata,
        Column("id", _BIG, Identity(), primary_key=True),
        Column("kind", String(20), nullable=False),
        Column("selection", LONG_TEXT, nullable=False),
        Column("selected", Integer, nullable=False),
        Column("author", String(255), nullable=False),
        Column("reason", LONG_TEXT, nullable=False),
        Column("done_at", Moment(), nullable=False),
        schema=database.schema,
        sqlite_autoincrement=True,
    )
    return DeadLetterTables(letters, operations)
