"""Options of commands that act: who, why, and how sure."""

from __future__ import annotations

from typing import Annotated

import typer

By = Annotated[str, typer.Option(envvar="TODOKE_BY", help="Who does it; kept.")]
Reason = Annotated[str, typer.Option(help="Why; kept.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
