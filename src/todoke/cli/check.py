"""`todoke check`: what would stop a worker, or break what was deployed before; for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.refusal import Refused
from todoke.cli.verdicts import tell
from todoke.names.check import record
from todoke.names.file import NAMES_FILE


def check(
    app: AppOption = None,
    names: Annotated[
        Path, typer.Option("--names", metavar="FILE", help="Where names are recorded.")
    ] = Path(NAMES_FILE),
    write: Annotated[
        bool, typer.Option("--write", help="Record new names, and changes that break nothing.")
    ] = False,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            "--forget",
            metavar="NAME",
            help="With --write: let go of a lost name, or take a change that breaks; repeatable.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify handlers, settings and names without a database; exit code 1 unless all is well."""
    if forget and not write:
        raise Refused("--forget changes the file of names: say --write, too.")
    with application(app) as found:
        if write:
            record(found, names, forget or ())
        findings = found.check(names)
    tell(findings, as_json=as_json)
    if any(one.verdict != "ok" for one in findings):
        raise typer.Exit(1)
