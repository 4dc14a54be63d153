"""The application a command works on, and letting go of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from todoke.app import Todoke
from todoke.application import load, named

AppOption = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:ATTRIBUTE",
        help="The application; otherwise `app` in todoke.toml or TODOKE_APP.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@contextmanager
def application(wish: str | None) -> Iterator[Todoke]:
    """The application of a command; its connections are closed at the end."""
    app = load(target(wish))
    try:
        yield app
    finally:
        app.close()


def target(wish: str | None) -> str:
    """Which application is meant: as said on the command line, or by the settings."""
    return named(wish, "Say --app module:attribute")
