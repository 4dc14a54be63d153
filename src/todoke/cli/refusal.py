"""How the command line says no: one line on stderr and exit code 1, never a traceback."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from todoke.cli.screen import complain
from todoke.errors import TodokeError


class Refused(TodokeError):
    """The command cannot do what was asked; the message says why and what to do."""


class Commands(TyperGroup):
    """Turns todoke's own errors into one line; what is unexpected keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except TodokeError as error:
            complain(str(error))
            raise typer.Exit(1) from error
