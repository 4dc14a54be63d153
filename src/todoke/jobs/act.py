"""What people do with jobs: look, run, retry, cancel, pause; each act with author and reason."""

from __future__ import annotations

from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from pydantic import ValidationError
from sqlalchemy import Connection, bindparam, exists, select, update

from todoke import codec
from todoke.both import both
from todoke.database import UNIQUE_ID, Database
from todoke.dead_letters.letter import Operation, Selection
from todoke.dead_letters.operations import Operations, check_author
from todoke.dead_letters.redrive import DeadLetters, Ring
from todoke.duration import Duration
from todoke.errors import InvalidArgument, InvalidOption
from todoke.hint import hint_of
from todoke.identity import Identities
from todoke.jobs.cancel import Cancelling
from todoke.jobs.enqueue import Enqueuing
from todoke.jobs.handler import JobHandler
from todoke.jobs.job import ABSENT, JobRef
from todoke.jobs.pauses import JOB, QUEUE, Handlers, Pauses, names_of
from todoke.jobs.read import JobReader
from todoke.jobs.records import DEAD, PENDING, PROCESSING, JobOperation
from todoke.jobs.row import Spec, row_of
from todoke.jobs.surroundings import Surroundings
from todoke.jobs.table import JobTables
from todoke.jobs.whereabouts import Found, Whereabouts, of_queue
from todoke.jobs.why import Reasons
from todoke.message import told
from todoke.work.item import LATER, READY
from todoke.work.strand import UNORDERED, queue_of, strand_of_key
from todoke.work.table import in_state

_TRIES = 3


class Jobs(JobReader):
    """Takes a Session, a Connection, or their async kind, and works in its transaction."""

    def __init__(
        self,
        tables: JobTables,
        whereabouts: Whereabouts,
        surroundings: Surroundings,
        reasons: Reasons,
        handlers: Handlers,
        *,
        enqueuing: Enqueuing,
        cancelling: Cancelling,
        pauses: Pauses,
        dead_letters: DeadLetters,
        operations: Operations,
        identities: Identities,
        database: Database,
        queues: Callable[[], Collection[str]],
        ring: Ring,
    ) -> None:
        super().__init__(tables, whereabouts, surroundings, reasons, handlers)
        self._enqueuing, self._cancelling, self._pauses = enqueuing, cancelling, pauses
        self._dead_letters, self._operations = dead_letters, operations
        self._identities, self._queues, self._ring = identities, queues, ring
        self._work, live = tables.work, tables.work.live
        this = live.c.message_id == bindparam("of_message", type_=UNIQUE_ID)
        self._hasten = (
            update(live)
            .where(this, in_state(live, LATER), live.c.owner.is_(None))
            .values(state=READY, scheduled_at=database.now, updated_at=database.now)
        )

    # --- run and retry -----------------------------------------------------------------------

    @both
    def run(
        self,
        connection: Connection,
        job: str,
        argument: str | None = None,
        *,
        by: str,
        reason: str,
        delay: Duration | None = None,
        priority: int | None = None,
        queue: str | None = None,
    ) -> JobOperation:
        """Enqueue a job by its name, with an argument as JSON."""
        check_author(by, reason)
        handler = self._handler(job)
        value = ABSENT if argument is None else _argument(handler, argument)
        options = {"delay": delay, "priority": priority, "queue": queue}
        spec = self._enqueuing.spec(handler.job, value, **options)  # type: ignore[arg-type]
        return self._enqueue(connection, spec, "run", {"job": handler.name}, by, reason)

    @both
    def retry(
        self, connection: Connection, job: JobRef[Any] | UUID, *, by: str, reason: str
    ) -> JobOperation:
        """Try a job again, now: one that is dead, waits for its next attempt, or has ended.

        One that has ended stays as it is: a new job has its argument, and none of its ties. Who
        wanted a waiting one to end is overruled.
        """
        check_author(by, reason)
        found = self._find(connection, job)
        if found.status == PENDING:
            return self._retry_waiting(connection, found, by, reason)
        if found.status == PROCESSING:
            raise _refused("retry", found, "it is running. Cancel it first, or let it end.")
        if found.status == DEAD and found.closed_as is None:
            return self._redrive(connection, found, by, reason)
        of = {"id": str(found.id), "job": found.job}
        return self._enqueue(connection, self._again(found), "retry", of, by, reason)

    def _retry_waiting(
        self, connection: Connection, found: Found, by: str, reason: str
    ) -> JobOperation:
        if not connection.execute(self._hasten, {"of_message": found.id}).rowcount:
            why = f"it waits already, for something else. `todoke jobs why {found.id}` tells what."
            raise _refused("retry", found, why)
        self._cancelling.withdraw(connection, found.id)
        self._ring(connection, [hint_of(self._work.source, found.stream, UNORDERED)])
        return self._record(connection, "retry", found, 1, by, reason)

    def _redrive(self, connection: Connection, found: Found, by: str, reason: str) -> JobOperation:
        assert found.letter is not None  # noqa: S101
        chosen = Selection(ids=(found.letter,))
        done = self._dead_letters.redrive(connection, chosen, by=by, reason=reason)
        if not done.done:
            raise _refused("retry", found, "somebody else is about to redrive or resolve it.")
        return JobOperation(done.id, "retry", 1, 1, found.id)

    def _again(self, found: Found) -> Spec:
        """The same once more, as this release would enqueue it, if it knows the job."""
        handler = self._handlers().get(found.job)
        if handler is not None:
            value = ABSENT if handler.argument is None else _argument(handler, found.body)
            queue, priority = queue_of(found.stream), -found.priority
            return self._enqueuing.spec(handler.job, value, priority=priority, queue=queue)
        key = found.key or None
        strand = 0 if key is None else strand_of_key(found.job, key)
        place = (found.context, found.stream, found.priority)
        return Spec(found.job, *place, found.body, key=key, strand=strand)

    def _enqueue(
        self,
        connection: Connection,
        spec: Spec,
        kind: str,
        selection: dict[str, Any],
        by: str,
        reason: str,
    ) -> JobOperation:
        id = self._identities.draw()
        self._enqueuing.writer.write(connection, [row_of(spec, id)])
        selection |= {"enqueued": str(id)}
        number = self._operations.record(connection, kind, selection, 1, by, reason)
        return JobOperation(number, kind, 1, 1, id)

    # --- cancel ------------------------------------------------------------------------------

    @both
    def cancel(
        self, connection: Connection, job: JobRef[Any] | UUID, *, by: str, reason: str
    ) -> JobOperation:
        """End a job that waits; let one that runs be ended by its worker, within a second or so."""
        check_author(by, reason)
        found = self._find(connection, job)
        for _ in range(_TRIES):
            if found.status not in (PENDING, PROCESSING):
                raise _refused("cancel", found, _NOTHING_TO_END.get(found.status, _HAS_ENDED))
            if found.status == PROCESSING:
                break
            if self._cancelling.one(connection, found.id, by, reason):
                return self._record(connection, "cancel", found, 1, by, reason)
            found = self._find(connection, found.id)  # a worker was faster
        self._cancelling.ask(connection, found.id, by, reason)
        return self._record(connection, "cancel", found, 0, by, reason)

    @both
    def cancel_all(
        self,
        connection: Connection,
        *,
        job: str | None = None,
        queue: str | None = None,
        by: str,
        reason: str,
        dry_run: bool = False,
    ) -> Operation:
        """End all jobs of a name, or of a queue, that wait; those that run go on."""
        check_author(by, reason)
        if job is None and queue is None:
            raise InvalidOption("cancel_all", "()", 'say which: job="export", or queue="files".')
        names = None if job is None else names_of(job, self._handlers())
        if dry_run:
            count = self._cancelling.count(connection, names, queue)
            return Operation(0, "cancel", count, 0)
        count = self._cancelling.all(connection, names, queue, by, reason)
        chosen = {"job": job, "queue": queue}
        number = self._operations.record(connection, "cancel", chosen, count, by, reason)
        return Operation(number, "cancel", count, count)

    # --- pause and resume --------------------------------------------------------------------

    @both
    def pause(
        self,
        connection: Connection,
        *,
        queue: str | None = None,
        job: str | None = None,
        by: str,
        reason: str,
    ) -> Operation:
        """Begin nothing more of a queue or a job; what runs goes on, what waits stays."""
        check_author(by, reason)
        kind, name = self._resting("pause", connection, queue, job)
        if not self._pauses.put(connection, kind, name, by, reason):
            raise InvalidOption("pause", f"{kind} {name}", "it is paused already.")
        number = self._operations.record(connection, "pause", {kind: name}, 1, by, reason)
        return Operation(number, "pause", 1, 1)

    @both
    def resume(
        self,
        connection: Connection,
        *,
        queue: str | None = None,
        job: str | None = None,
        by: str,
        reason: str,
    ) -> Operation:
        """Let a queue or a job go on."""
        check_author(by, reason)
        kind, name = self._resting("resume", None, queue, job)
        if not self._pauses.lift(connection, kind, name):
            resting = ", ".join(f"{one.kind} {one.name}" for one in self._pauses.read(connection))
            known = f"Paused: {resting}." if resting else "Nothing is."
            raise InvalidOption("resume", f"{kind} {name}", f"it is not paused. {known}")
        if kind == JOB:
            self._pauses.ready(connection, name)
        number = self._operations.record(connection, "resume", {kind: name}, 1, by, reason)
        self._ring(connection, ())
        return Operation(number, "resume", 1, 1)

    def _resting(
        self, call: str, connection: Connection | None, queue: str | None, job: str | None
    ) -> tuple[str, str]:
        """Kind and name; what nobody knows is refused, if a connection is there to ask."""
        if (queue is None) == (job is None):
            raise InvalidOption(call, (queue, job), 'say one: queue="files" or job="export".')
        if job is not None:
            handler = self._handlers().get(job)
            if handler is None and connection is not None:
                self._require_rows(call, connection, job)
            return JOB, job if handler is None else handler.name
        assert queue is not None  # noqa: S101
        if connection is not None:
            self._require_queue(call, connection, queue)
        return QUEUE, queue

    def _require_rows(self, call: str, connection: Connection, job: str) -> None:
        live = self._work.live
        if not connection.execute(select(exists().where(live.c.handler == job))).scalar():
            raise InvalidOption(call, f"job {job}", self._no_such(job))

    def _require_queue(self, call: str, connection: Connection, queue: str) -> None:
        context, _, name = queue.rpartition("/")
        streams = {handler.stream for handler in self._handlers().values()}
        known = {*self._queues(), *map(queue_of, streams)}
        for worker in self._surroundings.at(connection).workers:
            known |= set(worker.service.queues)
        contexts = {stream.partition("/")[0] for stream in streams}
        if name in known and (not context or context in contexts):
            return
        live = self._work.live
        if not connection.execute(select(exists().where(of_queue(live, queue)))).scalar():
            names = ", ".join(sorted(known))
            raise InvalidOption(call, f"queue {queue}", f"there is no such queue. Known: {names}.")

    # --- parts -------------------------------------------------------------------------------

    def _record(
        self, connection: Connection, kind: str, found: Found, done: int, by: str, reason: str
    ) -> JobOperation:
        of = {"id": str(found.id), "job": found.job}
        number = self._operations.record(connection, kind, of, 1, by, reason)
        return JobOperation(number, kind, 1, done, found.id)

    def _handler(self, job: str) -> JobHandler:
        handler = self._handlers().get(job)
        if handler is None:
            raise InvalidOption("run", job, self._no_such(job))
        return handler

    def _no_such(self, job: str) -> str:
        known = sorted(self._handlers())
        close = get_close_matches(job, known, n=1)
        if close:
            return f"there is no such job. Is {close[0]} meant?"
        return f"there is no such job. Known: {', '.join(known) or 'none'}."


_HAS_ENDED = "it has ended already, so nothing was done."
_NOTHING_TO_END = {
    DEAD: "it is dead already. `todoke dead-letters resolve` closes it for good.",
}


def _refused(call: str, found: Found, why: str) -> InvalidOption:
    return InvalidOption(call, f"{found.job} {found.id}", why)


def _argument(handler: JobHandler, text: str) -> Any:
    """What the text says, read strictly and by the job's own type."""
    if handler.argument is None:
        raise InvalidArgument(handler.name, "it takes no argument")
    try:
        codec.load(text)
        return handler.argument.load(text)
    except codec.NotStrict as error:
        raise InvalidArgument(handler.name, f"no strict JSON: {error}") from None
    except ValidationError as error:
        raise InvalidArgument(handler.name, told(error)) from None
