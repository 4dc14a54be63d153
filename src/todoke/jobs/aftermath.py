"""What happens when a job's attempt has ended, in the transaction that settles it.

The run goes into the history. Of a job that has ended for good: its unique key is free, its
cursors go (those of a dead one stay, it may be redriven), the next of its chain is enqueued and
what its run has said (`run.then`), its batch is counted down, and whoever brings a batch to nothing
enqueues what follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, bindparam, delete, select, update

from todoke import codec, crash
from todoke.database import UNIQUE_ID, Database
from todoke.identity import Identities
from todoke.jobs.enqueue import JobWriter
from todoke.jobs.handler import JobHandler
from todoke.jobs.history import FAILED, SKIPPED, SUCCEEDED, RunHistory, metrics_text
from todoke.jobs.in_hand import RunInHand, RunsInHand
from todoke.jobs.row import JobRow, Spec, row_of
from todoke.jobs.table import JobTables
from todoke.jobs.ties import NONE, Ties, ties_of
from todoke.telemetry import log, masked
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, Later, Processed, Settlement

CANCELLED = "CANCELLED"


class Endings:
    """Frees and continues what jobs that have ended were tied to."""

    def __init__(
        self, tables: JobTables, writer: JobWriter, database: Database, identities: Identities
    ) -> None:
        self._writer, self._identities = writer, identities
        batches = tables.batches
        this = batches.c.id == bindparam("of_batch", type_=UNIQUE_ID)
        pending, failed = batches.c.pending, batches.c.failed
        self._count = (
            update(batches)
            .where(this)
            .values(pending=pending - bindparam("ended"), failed=failed + bindparam("lost"))
        )
        state = (pending, failed, batches.c.then_job, batches.c.failed_job)
        self._state = select(*state).where(this).with_for_update()
        self._end = update(batches).where(this).values(ended_at=database.now)
        ids = bindparam("ids", type_=UNIQUE_ID, expanding=True)
        self._forget = [
            delete(table).where(table.c.job_id.in_(ids))
            for table in (tables.cursors, tables.cancellations)
        ]
        self._withdraw = self._forget[1]

    def write(
        self,
        connection: Connection,
        ended: Sequence[tuple[Item, Ties]],
        *,
        succeeded: bool,
        worked: Sequence[UUID] = (),
        following: Sequence[tuple[Item, Spec]] = (),
    ) -> None:
        """All of these have ended alike; `worked` are those that may have left more than ties."""
        freed = [item.message_id for item, ties in ended if ties.unique]
        if freed:
            self._writer.keys.free(connection, freed)
        if worked:
            for statement in self._forget:
                connection.execute(statement, {"ids": list(worked)})
        rows: list[JobRow] = []
        if succeeded:
            rows += [self._next(item, ties) for item, ties in ended if ties.then]
            rows += [self._row(spec, item) for item, spec in following]
        rows += self._batches(connection, ended, succeeded=succeeded)
        if rows:
            crash.point("job.before_follower")
            self._writer.write(connection, rows)

    def reopen(self, connection: Connection, letter: Row[Any]) -> None:
        """A dead letter is tried again: its key is its own, and its batch waits for it once more.

        Whoever wanted it to end when it was dying already meant its earlier life.
        """
        self.withdraw(connection, letter.message_id)
        ties = ties_of(letter.headers)
        if ties.unique is not None:
            job = letter.message_id
            self._writer.keys.take_back(connection, letter.context, ties.unique, job)
        if ties.batch is not None:
            values = {"of_batch": ties.batch, "ended": -1, "lost": -1}
            connection.execute(self._count, values)

    def withdraw(self, connection: Connection, job: UUID) -> None:
        """Nobody wants it to end any more."""
        connection.execute(self._withdraw, {"ids": [job]})

    def _next(self, item: Item, ties: Ties) -> JobRow:
        first, *rest = ties.then
        return self._row(Spec.of(first), item, Ties(then=tuple(rest), batch=None))

    def _row(self, spec: Spec, after: Item, ties: Ties = NONE) -> JobRow:
        return row_of(spec, self._identities.draw(), ties, trace=after.trace_context)

    def _batches(
        self, connection: Connection, ended: Sequence[tuple[Item, Ties]], *, succeeded: bool
    ) -> list[JobRow]:
        counts = Counter(ties.batch for _, ties in ended if ties.batch is not None)
        rows = []
        for batch in sorted(counts):
            count = counts[batch]
            values = {"ended": count, "lost": 0 if succeeded else count}
            connection.execute(self._count, {"of_batch": batch, **values})
            found = connection.execute(self._state, {"of_batch": batch}).first()
            if found is None or found.pending != 0:
                continue
            connection.execute(self._end, {"of_batch": batch})
            following = found.failed_job if found.failed else found.then_job
            if following is not None:
                spec = Spec.of(codec.load_object(following))
                rows.append(row_of(spec, self._identities.draw()))
        return rows


class Aftermath:
    """Witness of what is settled in the jobs table."""

    def __init__(
        self,
        history: RunHistory,
        endings: Endings,
        in_hand: RunsInHand,
        identities: Identities,
        handlers: Callable[[], Any],
        worker_name: str,
        max_bytes: int,
    ) -> None:
        self._history, self._endings, self._in_hand = history, endings, in_hand
        self._identities, self._handlers = identities, handlers
        self._worker_name, self._max_bytes = worker_name[:255], max_bytes
        self.stamp: Mapping[str, str] = {"env": history.env, "worker_name": self._worker_name}

    def is_silent(self, one: Processed) -> bool:
        """A plain success: when it was claimed and settled tells when it ran."""
        if one.note is not None or one.result is not None or not one.ends_well:
            return False
        run = self._in_hand.find(one.item)
        if run is None or run.ties is not NONE or not run.began_at_once or _has_told(run):
            return False
        handler = run.call.handler
        if not isinstance(handler, JobHandler) or handler.keeps_rows:
            return False
        with run.lock:
            run.ended = True
            return not run.noted

    def write(self, connection: Connection, owner: UUID, settlements: Sequence[Settlement]) -> None:
        ids = iter(self._identities.draw_many(len(settlements)) if settlements else ())
        fresh: list[dict[str, Any]] = []
        processed: dict[bool, list[tuple[Item, Ties]]] = {True: [], False: []}
        worked, following = [], []
        for one in settlements:
            run, drawn = self._in_hand.find(one.item), next(ids)
            if run is not None:
                with run.lock:  # its row, if there is one, is written by now
                    run.ended = True
                    run.identity(drawn)
            if isinstance(one, Processed):
                ties = run.ties if run else ties_of(one.item.headers)
                processed[one.ends_well].append((one.item, ties))
                if run is not None and (run.run is not None or run.call.cancelled is not None):
                    worked.append(one.item.message_id)
                if run is not None and run.run is not None and one.ends_well:
                    following += [(one.item, spec) for spec in run.run.following]
            elif not _is_attempt(one) and (run is None or not run.noted):
                continue
            row = self._row(one, run, owner, drawn)
            if run is None or not run.noted or not self._history.change(connection, row):
                fresh.append(row)
        if fresh:
            self._history.add(connection, fresh)
        for well, ended in processed.items():
            if ended:
                self._endings.write(
                    connection, ended, succeeded=well, worked=worked, following=following
                )

    def died(self, connection: Connection, item: Item, _failure: Failure) -> None:
        """In the transaction that buries a job."""
        ended = [(item, ties_of(item.headers))]
        # Its cursors stay: redriven, it goes on behind them.
        self._endings.withdraw(connection, item.message_id)
        self._endings.write(connection, ended, succeeded=False)

    def _row(
        self, one: Settlement, run: RunInHand | None, owner: UUID, drawn: UUID
    ) -> dict[str, Any]:
        item = one.item
        row: dict[str, Any] = {
            "id": drawn if run is None else run.id,
            "job_id": item.message_id,
            "context": item.context,
            "job": item.handler or item.type,
            "attempt": item.number,
            "worker": owner,
            "worker_name": self._worker_name,
        }
        if run is not None:
            row |= self._told(run)
        else:
            row |= {"started_at": item.claimed_at, "finished_at": item.claimed_at}
        match one:
            case Processed():
                row["status"] = SUCCEEDED if one.note is None else SKIPPED
                row["note"] = one.note
                row["result"] = self._result(one)
            case Later(failure=Failure() as failure) | Dead(failure=failure):
                row |= {"status": FAILED, **_of_failure(failure)}
            case _:
                row |= {"status": SKIPPED, "note": "put off; the attempt does not count"}
        return row

    def _told(self, run: RunInHand) -> dict[str, Any]:
        now, started = self._in_hand.clock.monotonic(), run.call.started
        row: dict[str, Any] = {
            "schedule": run.ties.schedule,
            "tick": run.ties.tick,
            "started_at": run.at(run.came if started is None else started),
            "finished_at": run.at(now),
        }
        return row | telling_of(run)

    def _result(self, one: Processed) -> str | None:
        handler: JobHandler | None = self._handlers().get(one.item.handler or "")
        if one.result is None or handler is None:
            return None
        try:
            return handler.result.dump(one.result, handler.name, self._max_bytes)
        except Exception as error:
            # It has happened: a result that cannot be kept fails nothing.
            log.error("job %s: its result is not kept: %s", one.item.message_id, error)
            return None


def _has_told(run: RunInHand) -> bool:
    """Its job was given a Run, or said something by way of its middleware."""
    asks = isinstance(run.call.handler, JobHandler) and run.call.handler.run_parameter is not None
    return run.run is not None and bool(asks or run.run.told.changes)


def _is_attempt(one: Settlement) -> bool:
    """False for what was put off before it began, snoozed, or handed back."""
    return isinstance(one, Processed | Dead) or (isinstance(one, Later) and one.failure is not None)


def _of_failure(failure: Failure) -> dict[str, Any]:
    return {
        "error_class": failure.error_class,
        "error_code": failure.code,
        "error_message": failure.message,
        "error_traceback": failure.traceback,
    }


def telling_of(run: RunInHand) -> dict[str, Any]:
    """What the run has said of itself so far."""
    if run.run is None:
        return {}
    told = run.run.told
    return {
        "processed": told.done,
        "total": told.total,
        "metrics": metrics_text(told.metrics),
        "log": masked("\n".join(list(told.lines))) or None,
    }
