"""The history of runs, written with their settlements.

A success that has nothing to tell but when, where and by whom is told by its settled row. Every
other attempt has a row of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, insert, update

from todoke import codec
from todoke.database import UNIQUE_ID, Database
from todoke.writing import Copy

RUNNING, SUCCEEDED, FAILED, SKIPPED = "RUNNING", "SUCCEEDED", "FAILED", "SKIPPED"
WORKER_LOST = "WORKER_LOST"
_MANY = 16
"""From so many rows on they are copied, where a database takes that."""

FIELDS = (
    "id",
    "job_id",
    "context",
    "job",
    "env",
    "attempt",
    "status",
    "worker",
    "worker_name",
    "processed",
    "total",
    "metrics",
    "log",
    "result",
    "note",
    "error_class",
    "error_code",
    "error_message",
    "error_traceback",
    "schedule",
    "tick",
    "started_at",
    "finished_at",
)
_OWN = tuple(name for name in FIELDS if name != "env")
_FIXED = ("id", "job_id", "env")


class RunHistory:
    """Writes rows of runs."""

    def __init__(self, runs: Table, database: Database, env: str) -> None:
        self.table: Table = runs
        self._database = database
        self.env: str = env[:100]
        self._insert = insert(runs)
        told = [name for name in FIELDS if name not in _FIXED]
        this = runs.c.id == bindparam("of_id", type_=UNIQUE_ID)
        still = runs.c.status == RUNNING
        self._change = (
            update(runs)
            .where(this, still)
            .values({name: bindparam(f"new_{name}", type_=runs.c[name].type) for name in told})
        )
        self._lost = (
            update(runs)
            .where(still, runs.c.worker == bindparam("of_worker", type_=UNIQUE_ID))
            .values(
                status=FAILED,
                finished_at=database.now,
                error_class="transient",
                error_code=WORKER_LOST,
                error_message="Its worker died, or stopped for longer than its lease.",
            )
        )

    def add(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Rows of runs that nobody was told of before."""
        copier = self._database.copier(connection) if len(rows) >= _MANY else None
        if copier is not None:
            shared = {"env": self.env}
            copier(connection, Copy(self.table, _OWN, [(shared, _values(row)) for row in rows]))
        elif rows:
            empty = {**dict.fromkeys(FIELDS), "env": self.env}
            connection.execute(self._insert, [empty | dict(row) for row in rows])

    def change(self, connection: Connection, row: Mapping[str, Any]) -> bool:
        """What is known by now of a run that was going on; False when it is no longer."""
        values = {f"new_{name}": row.get(name) for name in FIELDS if name not in _FIXED}
        return bool(connection.execute(self._change, {"of_id": row["id"], **values}).rowcount)

    def lose(self, connection: Connection, worker: UUID) -> int:
        """A process is no more: what ran in it has failed; with its deregistration."""
        return connection.execute(self._lost, {"of_worker": worker}).rowcount


def _values(row: Mapping[str, Any]) -> Sequence[Any]:
    return [row.get(name) for name in _OWN]


def metrics_text(metrics: Mapping[str, float]) -> str | None:
    return codec.dump(dict(metrics)) if metrics else None
