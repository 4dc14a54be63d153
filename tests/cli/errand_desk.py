"""A project with jobs, and what a worker does with them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from tests.application import leases
from tests.cli.errands import Letter, build
from tests.cli.project import Project
from todoke import Todoke
from todoke.jobs.history import RUNNING
from todoke.jobs.job import Job, JobRef
from todoke.work.lease import JOBS, Service

ACT = ("--by", "ken", "--reason", "wrong stamp")
MIKA = Letter(to="Mika", pages=2, remark="for ken@example.org")
SOURCE = "from tests.cli.errands import build\n\napp = build()\n"


class Errands:
    """A project with jobs, and an application on the same database."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.write(SOURCE)
        self.app: Todoke = build(project.url)
        self.ask, self.run = project.ask, project.run

    def enqueue(self, job: Job[Any, Any], *argument: Any, **options: Any) -> UUID:
        with self.app.engine.begin() as connection:
            # The commands import the same context anew, for an application of their own.
            ref: JobRef[Any] = self.app.enqueuing.one(connection, job, *argument, **options)
        return ref.id

    def status(self, id: UUID) -> str:
        with self.app.session() as session:
            return self.app.jobs.get(session, id).status

    def begin(self, id: UUID, **told: Any) -> UUID:
        """Some worker has it in its hands, and tells of it."""
        worker, name = self.app.identities.draw(), "host:1"
        known = {one: of.stream for one, of in self.app.handlers.jobs.items()}
        service = Service({JOBS: known}, {"default": 4})
        with self.app.engine.begin() as connection:
            leases(self.app, 3600).register(connection, worker, name, service)
        with self.app.engine.connect() as connection:
            (item,) = self.app.claims[2].take(connection, worker, "errands/default", 1)
        assert item.message_id == id
        run = self.app.identities.draw()
        row = {
            "id": run,
            "job_id": id,
            "context": item.context,
            "job": item.handler,
            "attempt": 1,
            "status": RUNNING,
            "worker": worker,
            "worker_name": name,
            "started_at": item.claimed_at,
        }
        with self.app.engine.begin() as connection:
            self.app.job_room.history.add(connection, [row | told])
        return run

    def tell(self, run: UUID, **told: Any) -> None:
        runs = self.app.job_room.tables.runs
        with self.app.engine.begin() as connection:
            connection.execute(runs.update().where(runs.c.id == run).values(**told))

    def end(self, id: UUID) -> None:
        """Its worker has settled it."""
        work = self.app.jobs_table
        with self.app.engine.begin() as connection:
            connection.execute(work.live.update().values(owner=None))
            self.app.jobs.cancel(connection, id, by="ken", reason="enough")
