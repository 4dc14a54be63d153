"""An application for the proof of limits: each job enters a room and counts the heads in there.

Whoever's process was declared dead does not count, whether it is dead or only stood still and goes
on for a moment when it wakes up. What went wrong is written down in a file.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from pydantic import BaseModel
from sqlalchemy import (
    Column,
    MetaData,
    String,
    Table,
    case,
    delete,
    func,
    insert,
    literal,
    select,
)
from sqlalchemy.exc import IntegrityError

from todoke import Job, Limit, Run, Settings, Todoke
from todoke.database import UNIQUE_ID

AT_ONCE = 10

inside = Table(
    "inside",
    MetaData(),
    Column("job", UNIQUE_ID, primary_key=True),
    Column("owner", UNIQUE_ID, primary_key=True),
    Column("tenant", String(50), nullable=False),
)


class Visit(BaseModel):
    number: int
    tenant: str


def visit_job(app: Todoke, folder: str) -> Job[Visit, None]:
    lines = os.open(Path(folder) / "visits", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    room = Room(app)

    def tell(visit: Visit, what: str) -> None:
        os.write(lines, f"{visit.number} {what}\n".encode())

    @app.job(
        name="visit",
        limit=[Limit(AT_ONCE), Limit(1, per="tenant")],
        keep_successes=0,
    )
    def visit(argument: Visit, run: Run) -> None:
        room.enter(run, argument.tenant)
        heads, of_tenant = room.heads(argument.tenant)
        if heads > AT_ONCE:
            tell(argument, f"was one of {heads}")
        if of_tenant > 1:
            tell(argument, f"was one of {of_tenant} of {argument.tenant}")
        room.leave(run)
        tell(argument, "done")

    return visit


class Room:
    """Who is inside; of each the process whose job it is, as the database has it."""

    def __init__(self, app: Todoke) -> None:
        self._engine = app.engine
        jobs, workers = app.jobs_table.live, app.worker_table
        me = f"{socket.gethostname()}:{os.getpid()}"
        self._me = select(workers.c.id).where(workers.c.name == me)
        self._jobs, self._living = jobs, inside.join(workers, workers.c.id == inside.c.owner)

    def enter(self, run: Run, tenant: str) -> None:
        """Nobody's head is put in whose job belongs to another process by now."""
        jobs = self._jobs
        mine = select(jobs.c.message_id, jobs.c.owner, literal(tenant)).where(
            jobs.c.message_id == run.message.id, jobs.c.owner.in_(self._me)
        )
        head = insert(inside).from_select(["job", "owner", "tenant"], mine)
        try:
            with self._engine.begin() as connection:
                connection.execute(head)
        except IntegrityError:
            """This process woke up, and has claimed the same job again: one head for both."""

    def heads(self, tenant: str) -> tuple[int, int]:
        same = case((inside.c.tenant == tenant, 1))
        counted = select(func.count(), func.count(same))
        with self._engine.begin() as connection:
            row = connection.execute(counted.select_from(self._living)).one()
        return row[0], row[1]

    def leave(self, run: Run) -> None:
        mine = inside.c.job == run.message.id, inside.c.owner.in_(self._me)
        with self._engine.begin() as connection:
            connection.execute(delete(inside).where(*mine))


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    visit_job(app, folder)
    return app
