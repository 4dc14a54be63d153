"""`todoke jobs run` and `retry`: acts with an author and a reason."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated

import typer

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.jobs.follow import follow_one
from todoke.cli.jobs.look import Follow, Id
from todoke.cli.options import By, Reason
from todoke.cli.reach import acting
from todoke.cli.screen import one_line, say, say_json
from todoke.jobs.records import JobOperation


def run(
    name: Annotated[str, typer.Argument(help="The job's name.", show_default=False)],
    by: By,
    reason: Reason,
    argument: Annotated[
        str | None,
        typer.Argument(metavar="JSON", help="Its argument; - reads stdin.", show_default=False),
    ] = None,
    app: AppOption = None,
    delay: Annotated[str | None, typer.Option(help="Not now, but in so long: 5m.")] = None,
    priority: Annotated[
        int | None, typer.Option(help="-100 to 100; a higher one goes first.")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Another queue than its own.")] = None,
    follow: Follow = False,
    as_json: JsonOption = False,
) -> None:
    """Enqueue a job by its name."""
    text = sys.stdin.read() if argument == "-" else argument
    with application(app) as found:
        with acting(found) as connection:
            done = found.jobs.run(
                connection,
                name,
                text,
                by=by,
                reason=reason,
                delay=delay,
                priority=priority,
                queue=queue,
            )
        tell(done, f"{name} {done.job} is enqueued", as_json=as_json)
        if follow:
            follow_one(found, done.job, as_json=as_json)


def retry(
    id: Id, by: By, reason: Reason, app: AppOption = None, as_json: JsonOption = False
) -> None:
    """Try a job again now: one that is dead, waits for its next attempt, or has ended."""
    with application(app) as found, acting(found) as connection:
        done = found.jobs.retry(connection, id, by=by, reason=reason)
    again = "is tried again" if done.job == id else f"is run again, as {done.job}"
    tell(done, f"{id} {again}", as_json=as_json)


def tell(done: JobOperation, what: str, *, as_json: bool) -> None:
    """What was done, with the number it is kept under."""
    if as_json:
        told = asdict(done)
        say_json({"operation": told.pop("id"), **told})
    else:
        say(one_line(f"Operation {done.id}: {what}."))
