"""`todoke crash-points`: where a process can be made to die, for tests."""

from __future__ import annotations

from todoke import crash
from todoke.cli.finding import JsonOption
from todoke.cli.screen import say, say_json


def crash_points(as_json: JsonOption = False) -> None:
    """List the places at which TODOKE_CRASH=NAME:COUNT makes a worker die."""
    if as_json:
        say_json(crash.POINTS)
    else:
        say(*crash.POINTS)
