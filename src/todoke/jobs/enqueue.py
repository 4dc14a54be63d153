"""Enqueueing: jobs become rows in the caller's transaction.

As with events: on a Session the rows wait for the commit, on a connection they are written at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, insert

from todoke import codec, crash
from todoke.bell import Bell, Hints
from todoke.clock import Clock
from todoke.database import Database
from todoke.databases import schema
from todoke.duration import Duration, duration
from todoke.errors import InvalidOption
from todoke.handles.enqueued import Enqueued
from todoke.handles.give import Handles
from todoke.handles.promise import Promised
from todoke.hint import hint_of
from todoke.identity import Identities
from todoke.jobs.handler import JobHandler
from todoke.jobs.job import ABSENT, BatchRef, Call, Job, JobRef, Plan
from todoke.jobs.row import JobRow, Mould, Spec, plain_row, row_of
from todoke.jobs.table import JobTables
from todoke.jobs.ties import NONE, Ties
from todoke.jobs.unique import Unique, unique_of
from todoke.jobs.unique_keys import UniqueKeys
from todoke.telemetry import Tally
from todoke.work.row import Coming, Inserts, Row
from todoke.work.strand import strand_of_key
from todoke.work.table import WorkTable
from todoke.writing import Execute, Writing, perform_on, run

Ring = Callable[[Connection, Collection[str]], None]
MOST_PRIORITY = 100
_AT_ONCE = 128
"""Ids that are drawn together."""


class JobWriter:
    """Writes rows of jobs: keys and batches first, then the jobs themselves."""

    def __init__(self, tables: JobTables, database: Database, ring: Ring, tally: Tally) -> None:
        self.table: WorkTable = tables.work
        self.database: Database = database
        self.enqueued: Enqueued = Enqueued(tally)
        self.keys: UniqueKeys = UniqueKeys(tables.unique_keys, tables.work.live, database)
        self._ring, self._inserts = ring, Inserts(tables.work, database)
        self._open = insert(tables.batches).values(created_at=database.now)

    def write(self, connection: Connection, rows: Sequence[Row] | Coming) -> None:
        copier = self.database.copier(connection)
        writing = self.writing(rows, copies=copier is not None)
        with schema.needed(self.database):
            hints = run(writing, perform_on(connection, copier))
        self.enqueued.with_commit(connection, rows)
        if hints:
            self._ring(connection, hints)

    def writing(self, rows: Sequence[Any] | Coming, copies: bool) -> Writing[Hints]:
        crash.point("enqueue.before_insert")
        if isinstance(rows, Coming):
            yield from self._inserts.writing_alike(rows, copies=copies)
            due = {rows.shared["stream"]} if len(rows) and not rows.delay else set()
        else:
            fresh = yield from self._fresh(rows)
            yield from self._inserts.writing(fresh, copies=copies)
            due = {row.shared["stream"] for row in fresh if not row.delay}
        crash.point("enqueue.after_insert")
        return frozenset(hint_of(self.table.source, stream, -1) for stream in due)

    def _fresh(self, rows: Sequence[Any]) -> Writing[list[Row]]:
        """Those whose key was free, or that have none."""
        fresh: list[Row] = []
        for row in rows:
            if row.opens is not None:
                yield Execute(self._open, row.opens)
            if row.unique is None or (yield from self.keys.claiming(row)):
                fresh.append(row)
        return fresh


class Enqueuing:
    """Makes rows of jobs and hands them to the caller's transaction."""

    def __init__(
        self,
        writer: JobWriter,
        identities: Identities,
        handlers: Callable[[], Mapping[str, JobHandler]],
        engine: Callable[[], Engine],
        bell: Callable[[], Bell],
        *,
        max_bytes: int,
    ) -> None:
        self.writer: JobWriter = writer
        self._identities, self._handlers, self._max_bytes = identities, handlers, max_bytes
        self._handles = Handles(writer, engine, bell)
        self._clock: Clock = writer.database.clock

    def one(
        self,
        tx: Any,
        job: Job[Any, Any],
        argument: Any = ABSENT,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        unique: str | Unique | None = None,
    ) -> Any:
        spec = self.spec(job, argument, delay=delay, priority=priority, queue=queue)
        wish = unique_of(unique)
        held = wish.key if wish is not None and wish.within is None else None
        row = row_of(spec, self._identities.draw(), Ties(unique=held) if held else NONE)
        ref: JobRef[Any] = JobRef(row.message_id, job.name, wish.key if wish else None)
        row.unique, row.ref = wish, ref
        return self._give(tx, [row], ref, f"enqueue({job.name})")

    def many(
        self,
        tx: Any,
        job: Job[Any, Any],
        arguments: Iterable[Any],
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> Any:
        if isinstance(arguments, str | bytes | Mapping):
            name = type(arguments).__name__
            raise InvalidOption(
                f"{job.name}.enqueue_all", name, "it takes many. Write [argument], or `enqueue`."
            )
        handler, mould = self._mould(job, delay=delay, priority=priority, queue=queue)
        given, refs = list(arguments), list[JobRef[Any]]()
        rows = Coming(
            mould.shared, mould.delay, len(given), self._made(handler, mould, given, refs)
        )
        return self._give(tx, rows, refs, f"enqueue_all({job.name})")

    def _made(
        self, handler: JobHandler, mould: Mould, given: list[Any], refs: list[JobRef[Any]]
    ) -> Iterator[JobRow]:
        """A row for each argument, one after the other."""
        shared, delay, name = mould.shared, mould.delay, handler.job.name
        for start in range(0, len(given), _AT_ONCE):
            some = given[start : start + _AT_ONCE]
            for id, argument in zip(self._identities.draw_many(len(some)), some, strict=True):
                row = plain_row(shared, delay, id, *self._told(handler, argument))
                refs.append(JobRef(id, name))
                yield row

    def plan(self, tx: Any, plan: Plan | Call[Any], context: str) -> Any:
        """Enqueue a chain or a batch."""
        if isinstance(plan, Call):
            plan = Plan("chain", (plan,))
        if not isinstance(plan, Plan):
            raise InvalidOption("enqueue", type(plan).__name__, "pass chain(…) or batch(…).")
        rows = self._chain(plan) if plan.kind == "chain" else self._batch(plan, context)
        refs = tuple(JobRef[Any](row.message_id, row.shared["handler"]) for row in rows)
        opens = rows[0].opens if rows else None
        id = opens["id"] if opens else (refs[0].id if refs else self._identities.draw())
        return self._give(tx, list(rows), BatchRef(id, refs), f"enqueue({plan.kind})")

    def spec(
        self,
        job: Job[Any, Any],
        argument: Any,
        *,
        delay: Duration | datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> Spec:
        """All that the row will need; refuses what could not run."""
        handler, mould = self._mould(job, delay=delay, priority=priority, queue=queue)
        return mould.spec(*self._told(handler, argument))

    def _mould(
        self,
        job: Job[Any, Any],
        *,
        delay: Duration | datetime | None,
        priority: int | None,
        queue: str | None,
    ) -> tuple[JobHandler, Mould]:
        handler = self._handler(job)
        stream, wait = handler.stream_in(_queue(queue, job.name)), wait_of(delay, self._clock)
        level = -_priority(handler.priority if priority is None else priority, job.name)
        return handler, Mould(job.name, handler.context, stream, level, wait)

    def _told(self, handler: JobHandler, argument: Any) -> tuple[str, str | None, int]:
        """Its body, and the key and strand that a limit counts it under."""
        body, key = handler.body(argument, self._max_bytes), handler.key_of(argument)
        return body, key, 0 if key is None else strand_of_key(handler.job.name, key)

    def _chain(self, plan: Plan) -> list[JobRow]:
        if not plan.calls:
            raise InvalidOption("chain", "()", "name at least one call: chain(job.bind(1)).")
        first, *rest = map(self.spec_of, plan.calls)
        ties = Ties(then=tuple(spec.told() for spec in rest))
        return [row_of(first, self._identities.draw(), ties)]

    def _batch(self, plan: Plan, context: str) -> list[JobRow]:
        specs = [self.spec_of(call) for call in plan.calls]
        then = None if plan.then is None else self.spec_of(plan.then)
        failed = None if plan.failed is None else self.spec_of(plan.failed)
        if not specs:
            return [] if then is None else [row_of(then, self._identities.draw())]
        id = self._identities.draw()
        drawn = self._identities.draw_many(len(specs))
        rows = [row_of(spec, one, Ties(batch=id)) for spec, one in zip(specs, drawn, strict=True)]
        rows[0].opens = {
            "id": id,
            "context": context,
            "name": plan.name,
            "total": len(specs),
            "pending": len(specs),
            "then_job": _text(then),
            "failed_job": _text(failed),
        }
        return rows

    def spec_of(self, call: Call[Any]) -> Spec:
        """Of a job with its argument."""
        if not isinstance(call, Call):
            raise InvalidOption("enqueue", type(call).__name__, "write job.bind(argument).")
        return self.spec(
            call.job,
            call.argument,
            delay=call.delay,
            priority=call.priority,
            queue=call.queue,
        )

    def _handler(self, job: Job[Any, Any]) -> JobHandler:
        found = self._handlers().get(job.name)
        if found is None:
            raise InvalidOption("enqueue", job.name, "its context is not in this application.")
        return found

    def _give(self, tx: Any, rows: list[Any] | Coming, answer: Any, call: str) -> Any:
        writing = self._handles.give(tx, rows, call)
        return answer if writing is None else _answer_after(writing, answer)


async def _answer_after(write: Promised[object], answer: Any) -> Any:
    await write()
    return answer


def wait_of(delay: Duration | datetime | None, clock: Clock) -> float:
    """Seconds from now."""
    if delay is None:
        return 0.0
    if isinstance(delay, datetime):
        if delay.tzinfo is None:
            raise InvalidOption(
                "delay", str(delay), "a time without a zone. Use datetime.now(UTC)."
            )
        return max(0.0, (delay - clock.now()) / timedelta(seconds=1))
    return duration(delay, "delay").total_seconds()


def _priority(priority: int, job: str) -> int:
    whole = isinstance(priority, int) and not isinstance(priority, bool)
    if not whole or abs(priority) > MOST_PRIORITY:
        raise InvalidOption(
            f"{job}: priority", priority, f"a whole number, -{MOST_PRIORITY} to {MOST_PRIORITY}."
        )
    return priority


def _queue(queue: str | None, job: str) -> str | None:
    if queue is not None and (
        not isinstance(queue, str) or not queue or "/" in queue or len(queue) > 100
    ):
        raise InvalidOption(f"{job}: queue", queue, 'a name without "/", such as "files".')
    return queue


def _text(spec: Spec | None) -> str | None:
    return None if spec is None else codec.dump(spec.told())
