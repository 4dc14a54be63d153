"""What can be seen of jobs in a test."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, MetaData, Row, Select, Table, func, select

from todoke import Todoke


def runs(app: Todoke) -> list[tuple[str, str, int]]:
    """Job, status and attempt of each run, in the order they began."""
    return [(row.job, row.status, row.attempt) for row in run_rows(app)]


def run_rows(app: Todoke) -> list[Row[Any]]:
    """Of all runs, as people see them."""
    with app.engine.connect() as connection:
        return list(connection.execute(run_history(app)))


def run_history(app: Todoke) -> Select[Any]:
    """The view, by which runs with a row of their own and those without are seen alike."""
    name, own = f"{app.database.prefix}job_run_history", app.job_room.tables.runs
    columns = [Column(one.name, one.type) for one in own.c]
    view = Table(name, MetaData(), *columns, schema=app.database.schema)
    return select(view).order_by(func.coalesce(view.c.started_at, view.c.finished_at), view.c.id)


def count(app: Todoke, table: Table) -> int:
    with app.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def waiting(app: Todoke) -> int:
    return count(app, app.jobs_table.live)
