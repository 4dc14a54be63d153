"""What a job has answered, for those who wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, select

from todoke.database import reading
from todoke.duration import Duration, seconds
from todoke.errors import JobFailed, NotFound
from todoke.jobs.history import SUCCEEDED
from todoke.jobs.job import JobRef

if TYPE_CHECKING:
    from todoke.app import Todoke

R = TypeVar("R")

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5


class Resulting:
    """For an application: wait until a job has ended."""

    def result(self: Any, ref: JobRef[R], *, timeout: Duration) -> R:
        """The job's result, once its enqueuer has committed and a worker has run it.

        Raises JobFailed when it ends without one, TimeoutError when it has not ended by then.
        """
        for pause in _pauses(self, ref, timeout):
            if (found := _found(self, ref)) is not None:
                answer: R = _read(self, ref, found[0])
                return answer
            Event().wait(pause)
        raise TimeoutError(f"job {ref.id} has not ended within {timeout}.")

    async def aresult(self: Any, ref: JobRef[R], *, timeout: Duration) -> R:
        """The same from async code."""
        for pause in _pauses(self, ref, timeout):
            if (found := await asyncio.to_thread(_found, self, ref)) is not None:
                answer: R = _read(self, ref, found[0])
                return answer
            await asyncio.sleep(pause)
        raise TimeoutError(f"job {ref.id} has not ended within {timeout}.")


def _pauses(app: Todoke, ref: JobRef[Any], timeout: Duration) -> Iterator[float]:
    until, pause = app.clock.monotonic() + seconds(timeout, "timeout"), _FIRST_PAUSE
    yield pause
    while (left := until - app.clock.monotonic()) > 0:
        pause = min(_LONGEST_PAUSE, pause * 1.5, left)
        yield pause


def _found(app: Todoke, ref: JobRef[Any]) -> tuple[str | None] | None:
    """What it answered, as text; None while it has not ended."""
    with app.engine.connect() as connection, reading(connection):
        return _look(app, connection, ref)


def _look(app: Todoke, connection: Connection, ref: JobRef[Any]) -> tuple[str | None] | None:
    work, runs = app.job_room.tables.work, app.job_room.tables.runs
    ended = select(work.history.c.note).where(work.history.c.message_id == ref.id)
    row = connection.execute(ended).first()
    if row is None:
        _refuse_dead(app, connection, ref)
        return None
    if row.note is not None:
        raise JobFailed(ref.id, "SKIPPED", row.note)
    of_run = select(runs.c.result).where(runs.c.job_id == ref.id, runs.c.status == SUCCEEDED)
    found = connection.execute(of_run).first()
    return (None,) if found is None else (found.result,)


def _refuse_dead(app: Todoke, connection: Connection, ref: JobRef[Any]) -> None:
    letters = app.letter_table
    dead = select(letters.c.error_code, letters.c.error_message).where(
        letters.c.message_id == ref.id, letters.c.closed_as.is_distinct_from("redriven")
    )
    if (letter := connection.execute(dead).first()) is not None:
        raise JobFailed(ref.id, "DEAD", f"{letter.error_code}: {letter.error_message}")


def _read(app: Todoke, ref: JobRef[Any], text: str | None) -> Any:
    handler = app.handlers.jobs.get(ref.job)
    if handler is None:
        raise NotFound("job", ref.job)
    return None if text is None else handler.result.load(text)
