"""`todoke jobs`: look, run, retry, cancel, pause."""

from __future__ import annotations

import typer

from todoke.cli.jobs.act import retry, run
from todoke.cli.jobs.cancel import cancel
from todoke.cli.jobs.look import list_jobs, show, status, why
from todoke.cli.jobs.pause import pause, resume

jobs: typer.Typer = typer.Typer(
    help="Look at jobs; run, retry, cancel or pause them.", no_args_is_help=True
)
jobs.command("list")(list_jobs)
jobs.command()(show)
jobs.command()(why)
jobs.command()(status)
jobs.command()(run)
jobs.command()(retry)
jobs.command()(cancel)
jobs.command()(pause)
jobs.command()(resume)
