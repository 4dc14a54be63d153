"""An application with jobs that operators look at and act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from sqlalchemy import Connection, Row, select

from tests.application import leases
from todoke import Limit, PermanentError, Personal, Rate, Run, Todoke, TransientError
from todoke.jobs.forget import Forgetting
from todoke.jobs.history import RUNNING
from todoke.jobs.job import Job
from todoke.operate import JobRecord
from todoke.work.item import Item
from todoke.work.lease import JOBS, Service

WHO: dict[str, Any] = {"by": "ken", "reason": "wrong day"}


class Export(BaseModel):
    day: str
    mail: Personal[str] = "mika@example.com"


def forgetting(app: Todoke) -> Forgetting:
    """The agent that tidies up, with an hour's memory."""
    tables, letters = app.job_room.tables, app.letter_table
    return Forgetting(tables, letters, app.database, lambda: app.handlers.jobs, 3600)


def operations(app: Todoke) -> list[tuple[Any, ...]]:
    """Kind, how many, author, reason."""
    tables = app.metadata.tables
    (table,) = (one for name, one in tables.items() if name.endswith("operations"))
    with app.engine.connect() as connection:
        rows = connection.execute(select(table).order_by(table.c.id))
        return [(one.kind, one.selected, one.author, one.reason) for one in rows]


class Desk:
    """Jobs of every kind, and the ways to put one into each state."""

    def __init__(self, app: Todoke) -> None:
        self.app = app
        self.done: list[Any] = []

        @app.job()
        def export(argument: Export, run: Run) -> str:
            for _ in run.track([1, 2]):
                pass
            run.metric("bytes", 12.5)
            run.log.info("told %s", "you")
            self.done.append(argument.day)
            return argument.day

        @app.job()
        def refuse(number: int) -> None:
            if number not in self.done:
                raise PermanentError("no such number", code="NO_NUMBER")

        @app.job()
        def fail(number: int) -> None:
            raise TransientError("busy", code="BUSY")

        @app.job(limit=Limit(2))
        def narrow(number: int) -> None: ...

        @app.job(limit=Limit(1, per="tenant"))
        def tenant(argument: dict[str, str]) -> None: ...

        @app.job(limit=Rate(1, "60s"))
        def rare() -> None:
            self.done.append("rare")

        @app.job(aliases=["old-name"], queue="files")
        def renamed() -> None:
            self.done.append("renamed")

        self.export: Job[Export, str] = export
        self.refuse: Job[int, None] = refuse
        self.fail: Job[int, None] = fail
        self.narrow: Job[int, None] = narrow
        self.tenant: Job[dict[str, str], None] = tenant
        self.rare: Job[None, None] = rare
        self.renamed: Job[None, None] = renamed

    def enqueue(self, job: Job[Any, Any], *argument: Any, **options: Any) -> UUID:
        with self.app.engine.begin() as connection:
            return job.enqueue(connection, *argument, **options).id

    def get(self, id: UUID) -> JobRecord:
        with self.app.session() as session:
            return self.app.jobs.get(session, id)

    def why(self, id: UUID) -> list[str]:
        with self.app.session() as session:
            return list(self.app.jobs.why(session, id))

    def act(self, verb: str, *given: Any, **options: Any) -> Any:
        """One of the acts, in a transaction of its own."""
        with self.app.session() as session:
            return getattr(self.app.jobs, verb)(session, *given, **{**WHO, **options})

    def worker(
        self,
        name: str = "host:1",
        *,
        seconds: float = 3600,
        queues: Mapping[str, int] | None = None,
        jobs: Mapping[str, str] | None = None,
    ) -> UUID:
        """A process that lives for so long; it serves all, and knows all jobs."""
        known = {one: of.stream for one, of in self.app.handlers.jobs.items()}
        service = Service(
            {JOBS: known if jobs is None else jobs},
            {"default": 4, "files": 4} if queues is None else queues,
        )
        worker = self.app.identities.draw()
        with self.app.engine.begin() as connection:
            leases(self.app, seconds).register(connection, worker, name, service)
        return worker

    def claim(self, worker: UUID, stream: str = "todoke/default", count: int = 1) -> list[Item]:
        """Rows that the process has in its hands; with a slot of their destination or key."""
        source, keyed = self.app.claims[2], self.app.job_room.key_claims
        with self.app.engine.connect() as connection:
            if keyed.limit_of(stream) is not None:
                return keyed.take(connection, worker, stream, count, 100).items
            return source.take(connection, worker, stream, count)

    def runs(self, item: Item, worker: UUID, name: str, **told: Any) -> None:
        """Its worker tells that it runs."""
        row = {
            "id": self.app.identities.draw(),
            "job_id": item.message_id,
            "context": item.context,
            "job": item.handler,
            "attempt": item.number,
            "status": RUNNING,
            "worker": worker,
            "worker_name": name,
            "started_at": item.claimed_at,
        }
        with self.app.engine.begin() as connection:
            self.app.job_room.history.add(connection, [row | told])

    def rows(self, table: Any) -> list[Row[Any]]:
        with self.app.engine.connect() as connection:
            return list(connection.execute(select(table)))

    def states(self) -> list[str]:
        return sorted(row.state for row in self.rows(self.app.jobs_table.live))

    def operations(self) -> list[tuple[Any, ...]]:
        return operations(self.app)

    def read_pauses(self, connection: Connection) -> list[tuple[str, str]]:
        return [(one.kind, one.name) for one in self.app.job_room.pauses.read(connection)]
