"""Finding an application by its name, `module:attribute`."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from todoke.app import Todoke
from todoke.errors import NoApplication, TodokeError
from todoke.settings import Settings


def named(wish: str | None, or_else: str) -> str:
    """Which application is meant: the one wished for, or as the settings say."""
    name = wish or Settings.load().get("app")
    if not name:
        raise NoApplication(
            f"No application is named. {or_else}, set TODOKE_APP, or write "
            'app = "module:attribute" into todoke.toml.'
        )
    return str(name)


def load(named: str) -> Todoke:
    """Import `module:attribute`, the current directory first."""
    module, _, attribute = named.partition(":")
    if not module or not attribute:
        raise NoApplication(
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
            raise NoApplication(
                f"{named!r} cannot be found: there is no module {name!r} in {Path.cwd()} nor "
                "among the installed packages. Start todoke in the project's folder, or correct "
                "the name."
            ) from error
        raise NoApplication(
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
    raise NoApplication(f"{named!r} is no application: {attribute} {what}. {remedy}")
