"""What a piece of work costs a database, counted and not timed: the same on every machine.

PostgreSQL tells the pages a statement touched, MariaDB the rows its engine was asked for, SQLite
the steps of its own machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, event, text

Work = Callable[[Connection], object]


def cost(connection: Connection, work: Work) -> int:
    """Counted while it runs in a transaction that is rolled back."""
    count = {"postgresql": _pages, "mariadb": _rows, "sqlite": _steps}[connection.dialect.name]
    return count(connection, work)


def _pages(connection: Connection, work: Work) -> int:
    plans: list[dict[str, Any]] = []
    with _explained(connection, plans):
        work(connection)
    return sum(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] for plan in plans)


@contextmanager
def _explained(connection: Connection, plans: list[dict[str, Any]]) -> Iterator[None]:
    """Let each statement run a second time as its own explanation, undone at once."""

    def explain(_: Any, cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        if not statement.startswith(("UPDATE", "SELECT", "INSERT", "DELETE", "WITH")):
            return
        driver = cursor.connection
        with driver.cursor() as own:
            own.execute("SAVEPOINT explained")
            own.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}", parameters)
            told = own.fetchone()[0]
            plans.append((told if isinstance(told, list) else json.loads(told))[0]["Plan"])
            own.execute("ROLLBACK TO SAVEPOINT explained")

    event.listen(connection, "before_cursor_execute", explain)
    try:
        yield
    finally:
        event.remove(connection, "before_cursor_execute", explain)


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
