"""todoke in a Flask application: `flask todoke …`, and handlers inside the application's context.

```python
app = Todoke()


def create_web() -> Flask:
    web = Flask(__name__)
    todoke.flask.install(web, app)
    return web
```
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any

import click
from flask import Flask
from flask.cli import ScriptInfo

from todoke.app import Todoke
from todoke.cli import run
from todoke.errors import InvalidOption

__all__ = ["install"]

_NAMED = "todoke.flask:app"


def install(web: Flask, app: Todoke) -> None:
    """Make an application part of a Flask one; a second call replaces the first.

    It is then `web.extensions["todoke"]`, the command line has it at hand as `flask todoke …`,
    and its handlers run inside `web.app_context()`.
    """
    web.extensions["todoke"] = app
    app.surround("flask", partial(_in_context_of, web))
    web.cli.add_command(_command)


@click.command(
    "todoke",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.pass_context
def _command(context: click.Context) -> None:
    """Look at todoke, run its workers, act on dead letters."""
    found = context.ensure_object(ScriptInfo)
    if found.app_import_path is not None:
        # Worker processes load the same one.
        os.environ["FLASK_APP"] = found.app_import_path
    run(context.args, _installed_in(found.load_app()), program="flask todoke", named=_NAMED)


def _installed_in(web: Flask) -> Todoke:
    app = web.extensions.get("todoke")
    if not isinstance(app, Todoke):
        raise InvalidOption(
            "FLASK_APP", web.import_name, "it has no todoke. Call todoke.flask.install(web, app)."
        )
    return app


def _in_context_of(web: Flask, function: Callable[..., Any]) -> Callable[..., Any]:
    if iscoroutinefunction(function):

        @wraps(function)
        async def call_async(*arguments: Any, **named: Any) -> Any:
            with web.app_context():
                return await function(*arguments, **named)

        return call_async

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with web.app_context():
            return function(*arguments, **named)

    return call


def __getattr__(name: str) -> Todoke:
    """`todoke.flask:app` is what a worker process loads: the one of the Flask application."""
    if name != "app":
        raise AttributeError(name)
    return _installed_in(ScriptInfo(os.environ.get("FLASK_APP")).load_app())
