"""`todoke doctor`: what would hurt, found before it does."""

from __future__ import annotations

from typing import Annotated

import typer

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.verdicts import tell
from todoke.doctor.examine import LONG_TRANSACTION


def doctor(
    app: AppOption = None,
    long_transaction: Annotated[
        str, typer.Option(metavar="TIME", help="Tell transactions that are open for so long.")
    ] = LONG_TRANSACTION,
    as_json: JsonOption = False,
) -> None:
    """Examine the database and the settings; exit code 1 when something is bad."""
    with application(app) as found:
        findings = found.doctor(long_transaction=long_transaction)
    tell(findings, as_json=as_json)
    if any(one.verdict == "bad" for one in findings):
        raise typer.Exit(1)
