"""The application a command works on, and letting go of it afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated

import typer

from todoke import application as applications
from todoke.app import Todoke

AppOption = Annotated[
    str | None,
    typer.Option(
        "--app",
        metavar="MODULE:ATTRIBUTE",
        help="The application; otherwise `app` in todoke.toml or TODOKE_APP.",
        show_default=False,
    ),
]
_at_hand: ContextVar[tuple[str, Todoke] | None] = ContextVar("todoke_at_hand", default=None)
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@contextmanager
def at_hand(app: Todoke, named: str) -> Iterator[None]:
    """Commands mean this application, unless another is named; worker processes load `named`."""
    before = _at_hand.set((named, app))
    try:
        yield
    finally:
        _at_hand.reset(before)


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
    given = _at_hand.get()
    known = wish or (given[0] if given else None)
    return applications.named(known, "Say --app module:attribute")


def load(named: str) -> Todoke:
    """The application of this name: the one at hand, or it is imported."""
    given = _at_hand.get()
    return given[1] if given and given[0] == named else applications.load(named)
