"""`todoke dead-letters`: look, redrive, resolve."""

from __future__ import annotations

import typer

from todoke.cli.dead_letters.look import list_letters, show
from todoke.cli.dead_letters.redrive import redrive, resolve

dead_letters: typer.Typer = typer.Typer(
    help="Look at dead letters; redrive or resolve them.", no_args_is_help=True
)
dead_letters.command("list")(list_letters)
dead_letters.command()(show)
dead_letters.command()(redrive)
dead_letters.command()(resolve)
