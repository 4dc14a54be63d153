"""A database that a suite looks at, and a table of all that todoke's own are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    SmallInteger,
    String,
    Table,
    text,
)

from todoke.database import LONG_TEXT, UNIQUE_ID, Database, Moment


@dataclass(frozen=True)
class Opened:
    """A database, its address, and an engine to reach it."""

    database: Database
    url: URL
    engine: Engine

    def ask(self, question: Any, **values: Any) -> list[Any]:
        with self.engine.connect() as connection:
            return list(connection.execute(question, values))


def things(there: Opened) -> Table:
    """A table of each type that todoke's own are made of, with five rows."""
    table = Table(
        "things",
        MetaData(),
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("lane", SmallInteger, nullable=False, server_default="0"),
        Column("name", String(100)),
        Column("at", Moment()),
        Column("body", LONG_TEXT),
        Column("mark", UNIQUE_ID),
    )
    with there.engine.begin() as connection:
        table.create(connection)
        rows = [{"id": number, "lane": number % 2} for number in range(1, 6)]
        connection.execute(table.insert(), rows)
    return table


def change(connection: Connection, number: int) -> None:
    statement = "UPDATE things SET name = 'changed' WHERE id = :number"
    connection.execute(text(statement), {"number": number})


def changed(there: Opened) -> list[int]:
    return sorted(row[0] for row in there.ask(text("SELECT id FROM things WHERE name = 'changed'")))
