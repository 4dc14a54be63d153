"""Telling others of the runs in hand while they go on, and hearing what people want of them.

A run that takes longer than a moment gets its row in the history while it runs, with its progress;
one that was cancelled is told so. A process that was declared dead tells nothing of what it still
has in hand: those runs were lost with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, select

from todoke import crash
from todoke.clock import Clock
from todoke.database import UNIQUE_ID, reading
from todoke.errors import Cancelled
from todoke.identity import Identities
from todoke.jobs.aftermath import telling_of
from todoke.jobs.history import RUNNING, RunHistory
from todoke.jobs.in_hand import RunInHand, RunsInHand
from todoke.jobs.table import JobTables
from todoke.work.lease import registration

REST = 1.0
_A_MOMENT = 0.5
"""Seconds after which a run is worth a row before its end."""


class Reporter:
    """An agent of each worker process."""

    def __init__(
        self,
        tables: JobTables,
        workers: Table,
        history: RunHistory,
        in_hand: RunsInHand,
        identities: Identities,
        owner: Callable[[], UUID | None],
        worker_name: str,
        look: Sequence[Callable[[Connection], object]] = (),
    ) -> None:
        self._history, self._in_hand, self._owner = history, in_hand, owner
        self._identities = identities
        self._worker_name, self._look = worker_name[:255], look
        cancelled = tables.cancellations
        jobs = bindparam("jobs", type_=UNIQUE_ID, expanding=True)
        self._cancelled = select(cancelled.c.job_id, cancelled.c.author).where(
            cancelled.c.job_id.in_(jobs)
        )
        # Whoever deletes it ends the runs that are told of.
        self._registered = registration(workers)

    def tick(self, connection: Connection) -> float:
        now = self._in_hand.clock.monotonic()
        going_on = [run for run in self._in_hand.all() if _goes_on(run, now)]
        if going_on:
            self._hear(connection, going_on)
            self._tell(connection, [run for run in going_on if _has_news(run)])
        for look in self._look:
            look(connection)
        return REST

    def _hear(self, connection: Connection, runs: Sequence[RunInHand]) -> None:
        """Cancellations, of which there are few."""
        by_job = {run.call.item.message_id: run for run in runs}
        with reading(connection):
            found = connection.execute(self._cancelled, {"jobs": list(by_job)}).all()
        for job_id, author in found:
            run = by_job[job_id]
            if run.call.cancelled is None:
                run.call.cancel(Cancelled(run.call.handler.where, job_id, author))

    def _tell(self, connection: Connection, runs: Sequence[RunInHand]) -> None:
        owner = self._owner()
        runs = [run for run in runs if run.call.owner == owner]
        if not runs or owner is None:
            return
        held: list[RunInHand] = []
        try:
            with connection.begin():
                if connection.execute(self._registered, {"me": owner}).first() is None:
                    return
                # Only now: whoever settles a run may hold the one write lock and wait for these.
                held = [run for run in runs if run.lock.acquire(blocking=False)]
                alive = [run for run in held if not run.ended]
                for run in alive:
                    self._note(connection, run, owner)
                crash.point("report.before_commit")
        finally:
            for run in held:
                run.lock.release()

    def _note(self, connection: Connection, run: RunInHand, owner: UUID) -> None:
        item, started = run.call.item, run.call.started
        run.changes = run.run.told.changes if run.run is not None else 0
        row = {
            "id": run.identity(self._identities.draw()),
            "job_id": item.message_id,
            "context": item.context,
            "job": run.call.handler.name,
            "attempt": item.number,
            "status": RUNNING,
            "worker": owner,
            "worker_name": self._worker_name,
            "schedule": run.ties.schedule,
            "tick": run.ties.tick,
            "started_at": run.at(run.came if started is None else started),
            **telling_of(run),
        }
        if not (run.noted and self._history.change(connection, row)):
            self._history.add(connection, [row])
            run.noted = True


def every(
    seconds: float, clock: Clock, look: Callable[[Connection], object]
) -> Callable[[Connection], None]:
    """Look only so often."""
    last = [float("-inf")]

    def seldom(connection: Connection) -> None:
        if clock.monotonic() - last[0] >= seconds:
            last[0] = clock.monotonic()
            look(connection)

    return seldom


def _goes_on(run: RunInHand, now: float) -> bool:
    started = run.call.started
    return started is not None and not run.ended and now - started >= _A_MOMENT


def _has_news(run: RunInHand) -> bool:
    return not run.noted or (run.run is not None and run.run.told.changes != run.changes)
