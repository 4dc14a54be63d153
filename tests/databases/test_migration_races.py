"""Migrations that run together, or die on their way, end where one alone does."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event, inspect, text

from tests.databases.conftest import opened
from todoke.databases.schema import check
from todoke.databases.upgrade import migrate
from todoke.testing.conformance.opened import Opened


class Died(Exception):
    """Stands for a process that ended between two statements."""


def shape(there: Opened) -> dict[str, Any]:
    """Tables with columns and indexes, and views."""
    found, schema = inspect(there.engine), there.database.schema
    tables: dict[str, Any] = {
        name: (
            [column["name"] for column in found.get_columns(name, schema)],
            sorted(str(index["name"]) for index in found.get_indexes(name, schema)),
        )
        for name in found.get_table_names(schema)
    }
    return tables | dict.fromkeys(found.get_view_names(schema), "view")


def test_migrating_twice_changes_nothing(there: Opened) -> None:
    """OB-2"""
    migrate(there.engine, there.database)
    once = shape(there)
    migrate(there.engine, there.database)
    assert shape(there) == once


@pytest.mark.parametrize("schema", ["todoke", ""])
def test_migrations_that_start_together_take_turns(any_url: str, schema: str) -> None:
    """OB-2"""
    with opened(any_url, schema) as there:
        together = Barrier(4)

        def one_of_them() -> None:
            with opened(any_url, schema, patience=60) as mine, mine.engine.connect():
                together.wait(30)
                migrate(mine.engine, mine.database)

        with ThreadPoolExecutor(4) as pool:
            for each in [pool.submit(one_of_them) for _ in range(4)]:
                each.result()
        with there.engine.connect() as connection:
            check(connection, there.database)


def test_a_migration_that_died_is_completed_by_the_next(any_url: str) -> None:
    """OB-2"""
    statements = 1
    while dies_after(any_url, statements):
        statements += 4
    assert statements > 10
    with opened(any_url) as there:
        with there.engine.connect() as connection:
            check(connection, there.database)
        assert shape(there)["todoke_workers" if there.database.prefix else "workers"]


def test_a_half_done_migration_ends_as_an_undisturbed_one_does(
    mariadb_database: str, any_url: str
) -> None:
    """OB-2"""
    with opened(any_url) as there:
        migrate(there.engine, there.database)
        if there.database.kind != "mariadb":
            return
        expected = shape(there)
    for statements in (4, 9, 14):
        dies_after(mariadb_database, statements)
    with opened(mariadb_database) as there:
        migrate(there.engine, there.database)
        assert shape(there) == expected


def dies_after(url: str, statements: int) -> bool:
    """Migrate in a process that dies after so many changes; False when it ended before."""
    with opened(url) as there:
        left = statements

        def count(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            nonlocal left
            left -= statement.lstrip().startswith(("CREATE", "ALTER", "INSERT", "UPDATE", "DROP"))
            if left == 0:
                raise Died

        event.listen(there.engine, "after_cursor_execute", count)
        try:
            migrate(there.engine, there.database)
        except Died:
            return True
        with there.engine.connect() as connection:
            connection.execute(text("SELECT 1"))
        return False
