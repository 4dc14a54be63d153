"""Finding the application a command works on, and letting go of it afterwards."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from todoke.app import Todoke
from todoke.cli.refusal import Refused
from todoke.errors import TodokeError
from todoke.settings import Settings

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
    named = wish or (given[0] if given else Settings.load().get("app"))
    if not named:
        raise Refused(
            "No application is named. Say --app module:attribute, set TODOKE_APP, or write "
            'app = "module:attribute" into todoke.toml.'
        )
    return str(named)


def load(named: str) -> Todoke:
    """Import `module:attribute`, the current directory first."""
    if (given := _at_hand.get()) is not None and given[0] == named:
        return given[1]
    module, _, attribute = named.partition(":")
    if not module or not attribute:
        raise Refused(
            f"{named!r} names no application. Write module:attribute, as in shop.app:app."
        )
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    return _application(_import(module, named), attribute, named)


def _import(name: str, named: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except TodokeError:
        raise
    except Exception as error:
        if _is_missing(name, error):
            raise Refused(
                f"{named!r} cannot be found: there is no module {name!r} in {Path.cwd()} nor "
                "among the installed packages. Start todoke in the project's folder, or correct "
                "the name."
            ) from error
        raise Refused(
            f"{named!r} cannot be imported: {type(error).__name__}: {error} ({_place(error)}). "
            f'`{Path(sys.executable).name} -c "import {name}"` shows the whole traceback.'
        ) from error


def _is_missing(name: str, error: Exception) -> bool:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    return missing is not None and f"{name}.".startswith(f"{missing}.")


def _place(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    last = next(one for one in reversed(frames) if not one.filename.startswith("<frozen"))
    return f"{last.filename}:{last.lineno}"


def _application(module: ModuleType, attribute: str, named: str) -> Todoke:
    found = getattr(module, attribute, None)
    if isinstance(found, Todoke):
        return found
    known = [name for name, value in vars(module).items() if isinstance(value, Todoke)]
    what = "does not exist" if found is None else f"is of type {type(found).__name__}"
    remedy = (
        f"There is {', '.join(known)}." if known else f"{module.__name__} has no Todoke at all."
    )
    raise Refused(f"{named!r} is no application: {attribute} {what}. {remedy}")
