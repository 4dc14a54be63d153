"""`todoke jobs pause` and `resume`: a queue or a job rests, and goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.options import By, Reason
from todoke.cli.reach import acting
from todoke.cli.screen import one_line, say, say_json
from todoke.dead_letters.letter import Operation

Queue = Annotated[str | None, typer.Option(help="A queue: files, or shipping/files.")]
JobName = Annotated[str | None, typer.Option("--job", help="A job, by its name.")]


def pause(
    by: By,
    reason: Reason,
    queue: Queue = None,
    job: JobName = None,
    app: AppOption = None,
    as_json: JsonOption = False,
) -> None:
    """Begin nothing more of a queue or a job; what runs goes on, what waits stays."""
    _require_one(queue, job)
    with application(app) as found, acting(found) as connection:
        done = found.jobs.pause(connection, queue=queue, job=job, by=by, reason=reason)
    _tell(done, queue, job, "is paused", as_json=as_json)


def resume(
    by: By,
    reason: Reason,
    queue: Queue = None,
    job: JobName = None,
    app: AppOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a queue or a job go on."""
    _require_one(queue, job)
    with application(app) as found, acting(found) as connection:
        done = found.jobs.resume(connection, queue=queue, job=job, by=by, reason=reason)
    _tell(done, queue, job, "goes on", as_json=as_json)


def _require_one(queue: str | None, job: str | None) -> None:
    if (queue is None) == (job is None):
        raise typer.BadParameter("Say one of --queue and --job.")


def _tell(done: Operation, queue: str | None, job: str | None, how: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"operation": done.id, "kind": done.kind, "queue": queue, "job": job})
    else:
        what = f"queue {queue}" if job is None else f"job {job}"
        say(one_line(f"Operation {done.id}: {what} {how}."))
