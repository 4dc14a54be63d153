"""The command line: looks at an application, runs it, and acts on its dead letters.

Commands find the application by `--app`, todoke.toml or TODOKE_APP, and do what the Python API
does; they hold no rules of their own. Refusals are one line on stderr and exit code 1.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from todoke.app import Todoke
from todoke.cli.archive import archive
from todoke.cli.check import check
from todoke.cli.crash_points import crash_points
from todoke.cli.dead_letters import dead_letters
from todoke.cli.doctor import doctor
from todoke.cli.events import events
from todoke.cli.finding import at_hand
from todoke.cli.jobs import jobs
from todoke.cli.ledger import ledger
from todoke.cli.migrate import migrate
from todoke.cli.refusal import Commands
from todoke.cli.schedules import schedules
from todoke.cli.settings import settings
from todoke.cli.status import status
from todoke.cli.worker.command import worker

__all__ = ["main", "run"]

commands: typer.Typer = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Help in frames is for people; a pipe or a file gets plain lines.
    rich_markup_mode="rich" if sys.stdout.isatty() else None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        try:
            print(f"todoke {version('todoke')}")
        except PackageNotFoundError:
            print("todoke, not installed: run from its sources")
        raise typer.Exit


@commands.callback()
def todoke(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """What you commit, arrives."""


commands.command()(migrate)
commands.command()(worker)
commands.command()(status)
commands.add_typer(events, name="events")
commands.add_typer(jobs, name="jobs")
commands.add_typer(dead_letters, name="dead-letters")
commands.add_typer(schedules, name="schedules")
commands.add_typer(ledger, name="ledger")
commands.command()(check)
commands.command()(doctor)
commands.add_typer(archive, name="archive")
commands.command()(settings)
commands.command("crash-points")(crash_points)


def main() -> None:
    commands(prog_name="todoke")


def run(arguments: Sequence[str], app: Todoke, *, program: str, named: str) -> None:
    """The same inside another command line, with an application at hand; ends with SystemExit."""
    with at_hand(app, named):
        commands(arguments, prog_name=program)
