"""`todoke settings`: every setting, its value, and where it came from; secrets stay hidden."""

from __future__ import annotations

import re

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.screen import say, say_json, table
from todoke.settings import Settings

_SECRET = re.compile("password|secret|token|key", re.IGNORECASE)
_IN_URL = re.compile(r"(://[^:/@\s]*:).*(@)")
_IN_QUERY = re.compile(r"([?&][^=&]*(?:password|secret|token|key)[^=&]*=)[^&]*", re.IGNORECASE)


def settings(app: AppOption = None, as_json: JsonOption = False) -> None:
    """Show each setting, its value, and where it came from."""
    told = [(name, _shown(name, value), origin) for name, value, origin in _settings(app).explain()]
    if as_json:
        say_json([{"name": name, "value": value, "from": came} for name, value, came in told])
    else:
        rows = [(name, _text(value), origin) for name, value, origin in told]
        say(*table(["SETTING", "VALUE", "FROM"], rows, shrink=["VALUE"]))


def _settings(wish: str | None) -> Settings:
    """Those of the application, with what its code says; without one, those found here."""
    found = Settings.load()
    if not (wish or found.get("app")):
        return found
    with application(wish) as app:
        return app.settings


def _shown(name: str, value: object) -> object:
    if _SECRET.search(name) and value is not None:
        return "***"
    if isinstance(value, str):
        return _IN_QUERY.sub(r"\1***", _IN_URL.sub(r"\1***\2", value))
    return value


def _text(value: object) -> str:
    if value is None:
        return "—"
    if isinstance(value, dict):
        return ", ".join(f"{name}={one}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)
