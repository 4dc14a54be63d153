"""What can be seen of jobs in a test."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row, Table, func, select

from todoke import Todoke


def runs(app: Todoke) -> list[tuple[str, str, int]]:
    """Job, status and attempt of each run, in the order they began."""
    return [(row.job, row.status, row.attempt) for row in run_rows(app)]


def run_rows(app: Todoke) -> list[Row[Any]]:
    table = app.job_room.tables.runs
    with app.engine.connect() as connection:
        return list(connection.execute(select(table).order_by(table.c.id)))


def count(app: Todoke, table: Table) -> int:
    with app.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def waiting(app: Todoke) -> int:
    return count(app, app.jobs_table.live)
