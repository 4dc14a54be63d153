"""`todoke crash-points`: where a process can be made to die, for tests."""

from __future__ import annotations

from todoke import crash
from todoke.cli.finding import AppOption, JsonOption, load
from todoke.cli.screen import say, say_json


def crash_points(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the places at which TODOKE_CRASH=NAME:COUNT makes a worker die.

    With --app those of the application, too.
    """
    if app is not None:
        load(app)
    if as_json:
        say_json(crash.points())
    else:
        say(*crash.points())
