"""What a piece of work costs a database, counted and not timed: the same on every machine.

PostgreSQL tells the pages a statement touched, MariaDB the rows its engine was asked for, SQLite
the steps of its own machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import psycopg
from sqlalchemy import Connection, Table, text

Work = Callable[[Connection], object]
_LEVELS = text(
    "SELECT (bt_metap(indexrelid::regclass::text)).level FROM pg_index "
    "WHERE indrelid = CAST(:table AS regclass)"
)


def cost(connection: Connection, work: Work) -> int:
    """What it asks of the database; on PostgreSQL each of its statements runs twice."""
    count = {"postgresql": _pages, "mariadb": _rows, "sqlite": _steps}[connection.dialect.name]
    counted = count(connection, work)
    assert counted > 0, "the work went another way than the one that is counted"
    return counted


def depth(connection: Connection, table: Table) -> int:
    """Levels under the root of the table's deepest index: pages that each descent reads more.

    Told by PostgreSQL alone; the others are not counted by pages.
    """
    if connection.dialect.name != "postgresql":
        return 0
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pageinspect"))
    levels: Sequence[int] = connection.execute(_LEVELS, {"table": table.fullname}).scalars().all()
    connection.commit()
    return max(levels)


def _pages(connection: Connection, work: Work) -> int:
    plans: list[dict[str, Any]] = []

    class Explaining(psycopg.Cursor[Any]):
        """Lets each statement run once before as its own explanation, undone at once."""

        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            plans.append(_explain(self.connection, query, params))
            return super().execute(query, params, **options)

        def executemany(self, query: Any, params_seq: Any, **_options: Any) -> None:
            for params in params_seq:
                self.execute(query, params)

    # In the driver: claims do not pass through SQLAlchemy's cursors.
    driver: Any = connection.connection.driver_connection
    usual, driver.cursor_factory = driver.cursor_factory, Explaining
    try:
        work(connection)
    finally:
        driver.cursor_factory = usual
    return sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)


def _explain(driver: psycopg.Connection[Any], query: str, parameters: Any) -> dict[str, Any]:
    begin, undo = "SAVEPOINT explained", "ROLLBACK TO SAVEPOINT explained"
    if driver.autocommit:
        begin, undo = "BEGIN", "ROLLBACK"
    with psycopg.Cursor(driver) as own:
        own.execute(begin)
        own.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", parameters)
        ((told,),) = own.fetchall()
        own.execute(undo)
    (plan,) = told
    return dict(plan["Plan"])


def _rows(connection: Connection, work: Work) -> int:
    before = _handler_reads(connection)
    work(connection)
    return _handler_reads(connection) - before


def _handler_reads(connection: Connection) -> int:
    rows = connection.execute(text("SHOW SESSION STATUS LIKE 'Handler_read%'")).all()
    connection.rollback()
    return sum(int(value) for _, value in rows)


def _steps(connection: Connection, work: Work) -> int:
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    driver: Any = connection.connection.driver_connection
    driver.set_progress_handler(step, 1)
    try:
        work(connection)
    finally:
        driver.set_progress_handler(None, 0)
    return steps
