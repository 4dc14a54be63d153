"""What tests see of schedules: their ticks, and the jobs that were enqueued for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select

from tests.jobs.board import run_rows
from todoke import Todoke
from todoke.job_runtime import scheduler_of
from todoke.jobs.scheduler import Scheduler
from todoke.jobs.schedules import TickRecord
from todoke.runtime import Runtime
from todoke.testing import Clock


def advance(app: Todoke, by: str) -> None:
    assert isinstance(app.clock, Clock)
    app.clock.advance(by)


def ticks(app: Todoke, name: str) -> Sequence[TickRecord]:
    """Oldest first."""
    with app.session() as session:
        return app.schedules.ticks(session, name, 100_000)[::-1]


def fates(app: Todoke, name: str) -> list[tuple[str, str]]:
    """When, within the day, and what became of it."""
    return [(f"{one.due:%H:%M}", one.status) for one in ticks(app, name)]


def statuses(app: Todoke, name: str) -> str:
    return " ".join(one.status for one in ticks(app, name))


def counted(app: Todoke, name: str) -> int:
    """How many due times the ledger has accounted for."""
    return sum(one.count for one in ticks(app, name))


def scheduler(app: Todoke) -> Scheduler:
    return scheduler_of(Runtime(app))


def enqueue_due(app: Todoke) -> None:
    """What a scheduler does, with nobody there to run the jobs."""
    with app.engine.connect() as connection:
        scheduler(app).catch_up(connection)


def living_jobs(app: Todoke) -> list[Row[Any]]:
    live = app.jobs_table.live
    with app.engine.connect() as connection:
        return list(connection.execute(select(live).order_by(live.c.id)))


def runs(app: Todoke) -> list[Row[Any]]:
    return run_rows(app)


def accounted(app: Todoke, name: str) -> datetime:
    table = app.job_room.tables.schedules
    with app.engine.connect() as connection:
        rows = select(table.c.accounted).where(
            table.c.application == app.name, table.c.name == name
        )
        found: datetime = connection.execute(rows).scalar_one()
        return found
