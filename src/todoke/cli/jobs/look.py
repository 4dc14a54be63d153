"""`todoke jobs list`, `show`, `why` and `status`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated
from uuid import UUID

import typer

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.jobs.follow import follow_jobs, follow_one
from todoke.cli.jobs.page import figures, lines, page, summary, whole
from todoke.cli.payload import Payloads
from todoke.cli.reach import reading
from todoke.cli.screen import facts, moment, note, say, say_json

Id = Annotated[UUID, typer.Argument(help="The job's id.", show_default=False)]
JobName = Annotated[str | None, typer.Option("--job", help="Only jobs of this name.")]
Queue = Annotated[str | None, typer.Option(help="Only this queue: files, or shipping/files.")]
Follow = Annotated[
    bool, typer.Option("--follow", help="Show progress as it is made, until Ctrl-C.")
]


def list_jobs(
    app: AppOption = None,
    status: Annotated[
        str | None,
        typer.Option(help="PENDING, PROCESSING, PROCESSED, DEAD or CANCELLED."),
    ] = None,
    job: JobName = None,
    queue: Queue = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    follow: Follow = False,
    as_json: JsonOption = False,
) -> None:
    """List jobs, newest first, and why those that wait do."""
    wanted = status.upper() if status else None
    with application(app) as found:
        if follow:
            follow_jobs(found, job=job, queue=queue, limit=limit, as_json=as_json)
            return
        with reading(found) as connection:
            records = found.jobs.list(connection, status=wanted, job=job, queue=queue, limit=limit)
        now = found.clock.now()
    if as_json:
        say_json([summary(one) for one in records])
    elif records:
        say(*lines(records, now))
    else:
        note("No job matches.")


def show(
    id: Id, app: AppOption = None, follow: Follow = False, as_json: JsonOption = False
) -> None:
    """Show one job, its runs with what they told, and its argument without personal fields."""
    with application(app) as found:
        if follow and not follow_one(found, id, as_json=as_json):
            return
        with reading(found) as connection:
            record = found.jobs.get(connection, id)
            runs = found.jobs.runs(connection, id=record.id)
        payloads = Payloads(found)
    if as_json:
        say_json(whole(record, runs, payloads))
    else:
        say(*page(record, runs, payloads))


def why(id: Id, app: AppOption = None, as_json: JsonOption = False) -> None:
    """Say why a job is not running, the most important first."""
    with application(app) as found, reading(found) as connection:
        reasons = found.jobs.why(connection, id)
    if as_json:
        say_json({"id": id, "why": reasons})
    else:
        say(*reasons)


def status(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show how many jobs wait and run in each queue, and what is paused."""
    with application(app) as found, reading(found) as connection:
        counts = found.jobs.status(connection)
        pauses = found.jobs.pauses(connection)
    if as_json:
        say_json({"jobs": [*map(asdict, counts)], "pauses": [*map(asdict, pauses)]})
        return
    if counts:
        say(*figures(counts))
    else:
        note("No job waits or runs.")
    say(
        *([""] if counts and pauses else []),
        *facts(
            {
                f"{one.kind} {one.name}": f"paused by {one.by} since {moment(one.since)}: "
                f"{one.reason}"
                for one in pauses
            }
        ),
    )
