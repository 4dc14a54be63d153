"""`todoke schedules`: when recurring jobs are due, what became of their ticks; acts on them."""

from __future__ import annotations

import typer

from todoke.cli.schedules.act import backfill, pause, resume, run
from todoke.cli.schedules.look import list_schedules, next_dues, ticks

schedules: typer.Typer = typer.Typer(
    help="Look at recurring jobs; run, pause or backfill them.", no_args_is_help=True
)
schedules.command("list")(list_schedules)
schedules.command("next")(next_dues)
schedules.command()(ticks)
schedules.command()(run)
schedules.command()(pause)
schedules.command()(resume)
schedules.command()(backfill)
