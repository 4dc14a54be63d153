"""`todoke jobs cancel`: one job, or all that wait of a name or a queue."""

from __future__ import annotations

import sys
from typing import Annotated
from uuid import UUID

import typer

from todoke.app import Todoke
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.jobs.act import tell
from todoke.cli.jobs.look import JobName, Queue
from todoke.cli.options import By, DryRun, Reason, Yes
from todoke.cli.reach import acting
from todoke.cli.screen import counted, say, say_json
from todoke.dead_letters.letter import Operation


def cancel(
    by: By,
    reason: Reason,
    id: Annotated[UUID | None, typer.Argument(help="The job's id.", show_default=False)] = None,
    app: AppOption = None,
    job: JobName = None,
    queue: Queue = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: JsonOption = False,
) -> None:
    """End a job that waits or runs; or, by --job or --queue, all that wait."""
    if (id is None) == (job is None and queue is None):
        raise typer.BadParameter("Say which: one ID, or --job or --queue for all that wait.")
    with application(app) as found:
        if id is not None:
            _cancel_one(found, id, by, reason, as_json=as_json)
        else:
            sure = yes or not sys.stdin.isatty()
            chosen = {"job": job, "queue": queue}
            _cancel_all(found, chosen, by, reason, dry_run=dry_run, sure=sure, as_json=as_json)


def _cancel_one(app: Todoke, id: UUID, by: str, reason: str, *, as_json: bool) -> None:
    with acting(app) as connection:
        done = app.jobs.cancel(connection, id, by=by, reason=reason)
    how = "is cancelled" if done.done else "runs; its worker was asked to end it"
    tell(done, f"{id} {how}", as_json=as_json)


def _cancel_all(
    app: Todoke,
    chosen: dict[str, str | None],
    by: str,
    reason: str,
    *,
    dry_run: bool,
    sure: bool,
    as_json: bool,
) -> None:
    if not dry_run and not sure:
        count = _perform(app, chosen, by, reason, dry_run=True).selected
        typer.confirm(f"Cancel {counted(count, 'job')}?", abort=True, err=True)
    done = _perform(app, chosen, by, reason, dry_run=dry_run)
    if as_json:
        say_json({"operation": done.id or None, "selected": done.selected, "done": done.done})
    elif dry_run:
        say(f"Would cancel {counted(done.selected, 'job')}.")
    else:
        say(f"Operation {done.id}: {counted(done.done, 'job')} cancelled.")


def _perform(
    app: Todoke, chosen: dict[str, str | None], by: str, reason: str, *, dry_run: bool
) -> Operation:
    with acting(app) as connection:
        return app.jobs.cancel_all(
            connection,
            job=chosen["job"],
            queue=chosen["queue"],
            by=by,
            reason=reason,
            dry_run=dry_run,
        )
