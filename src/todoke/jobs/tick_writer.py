"""Ticks and their jobs, written together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from todoke.identity import Identities
from todoke.jobs.enqueue import JobWriter
from todoke.jobs.history import SKIPPED, RunHistory
from todoke.jobs.row import JobRow, Spec, row_of
from todoke.jobs.run import Tick
from todoke.jobs.schedule import Schedule
from todoke.jobs.ticks import TickLedger
from todoke.jobs.ties import Ties
from todoke.jobs.verdict import Judge, Verdict

MakeSpec = Callable[..., Spec]


class TickWriter:
    """Judges ticks and writes them, in the transaction that has locked their schedule."""

    def __init__(
        self,
        ledger: TickLedger,
        jobs: JobWriter,
        history: RunHistory,
        identities: Identities,
        spec: MakeSpec,
        late_after: float,
    ) -> None:
        self.ledger: TickLedger = ledger
        self._jobs, self._history, self._identities = jobs, history, identities
        self._spec = spec
        self.late_after: timedelta = timedelta(seconds=late_after)

    def judge(
        self, connection: Connection, schedule: Schedule, last_job: UUID | None, now: datetime
    ) -> Judge:
        """Whoever judges these ticks knows what rests and what is going on."""
        ledger = self.ledger
        return Judge(
            schedule,
            now,
            self.late_after,
            self._prepared(now),
            blocked=schedule.silenced or self._paused(connection, schedule.name),
            going=ledger.going(connection, last_job),
            waiting=ledger.waiting(connection, schedule.name, schedule.cap),
        )

    def add(
        self, connection: Connection, schedule: Schedule, verdicts: Sequence[Verdict]
    ) -> list[tuple[Verdict, UUID | None]]:
        """New ticks, and their jobs."""
        rows = self._with_jobs(connection, schedule, verdicts)
        self.ledger.insert(connection, schedule.name, rows)
        self._tell_history(connection, schedule, verdicts)
        return rows

    def change(
        self, connection: Connection, schedule: Schedule, verdicts: Sequence[Verdict]
    ) -> list[tuple[Verdict, UUID | None]]:
        """Ticks that are in the ledger, and their jobs."""
        rows = self._with_jobs(connection, schedule, verdicts)
        for verdict, job in rows:
            self.ledger.change(connection, schedule.name, verdict, job)
        return rows

    def _with_jobs(
        self, connection: Connection, schedule: Schedule, verdicts: Sequence[Verdict]
    ) -> list[tuple[Verdict, UUID | None]]:
        rows = [None if one.spec is None else self._job(schedule, one) for one in verdicts]
        if jobs := [row for row in rows if row is not None]:
            self._jobs.write(connection, jobs)
        ids = [None if row is None else row.message_id for row in rows]
        return list(zip(verdicts, ids, strict=True))

    def _job(self, schedule: Schedule, verdict: Verdict) -> JobRow:
        assert verdict.spec is not None  # noqa: S101
        ties = Ties(schedule=schedule.name, tick=verdict.due, missed=verdict.missed)
        return row_of(verdict.spec, self._identities.draw(), ties)

    def _prepared(self, now: datetime) -> Callable[[Schedule, Tick], Spec]:
        def prepare(schedule: Schedule, tick: Tick) -> Spec:
            start = schedule.start_of(tick.due, self.ledger.application)
            delay = max(timedelta(0), start - now) if schedule.jitter else None
            return self._spec(schedule.job, schedule.argument_for(tick), delay=delay)

        return prepare

    def _paused(self, connection: Connection, name: str) -> str | None:
        pause = self.ledger.pause_of(connection, name)
        return None if pause is None else f"paused by {pause.author}: {pause.reason}"

    def _tell_history(
        self, connection: Connection, schedule: Schedule, verdicts: Sequence[Verdict]
    ) -> None:
        """JB-4: a job that is switched off was not run, and its history says so."""
        if schedule.handler.enabled or schedule.is_off:
            return
        now = self.ledger.now(connection)
        skipped = [one for one in verdicts if one.status == SKIPPED]
        self._history.add(connection, [self._skipped(schedule, one, now) for one in skipped])

    def _skipped(self, schedule: Schedule, verdict: Verdict, now: datetime) -> dict[str, Any]:
        id, more = self._identities.draw(), ""
        if verdict.count > 1:
            more = f", {verdict.count:,} ticks until {verdict.last_due:%Y-%m-%d %H:%M:%S} UTC"
        return {
            "id": id,
            "job_id": id,
            "context": schedule.handler.context,
            "job": schedule.handler.name,
            "attempt": 0,
            "status": SKIPPED,
            "note": f"{verdict.reason}{more}",
            "schedule": schedule.name,
            "tick": verdict.due,
            "started_at": now,
            "finished_at": now,
        }
