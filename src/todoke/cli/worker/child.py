"""One worker process, as the supervisor starts it:

python -m todoke.cli.worker.child MODULE:ATTRIBUTE --tether DESCRIPTOR --number NUMBER
    [--log-format text|json]
"""

from __future__ import annotations

import argparse
import os
import sys
import threading

from sqlalchemy.exc import DBAPIError

from todoke.app import Todoke
from todoke.application import load
from todoke.cli.reach import unreachable
from todoke.cli.worker.logs import set_up_logs
from todoke.cli.worker.tether import REFUSED, REPLACE, Tether
from todoke.errors import InvalidOption, TodokeError
from todoke.telemetry import log

_FAREWELL = 5.0


def main() -> None:
    parser = argparse.ArgumentParser("todoke.cli.worker.child")
    parser.add_argument("app")
    parser.add_argument("--tether", type=int, required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--log-format", choices=("text", "json"))
    options = parser.parse_args()
    tether = Tether(options.tether)
    tether.watch()
    _end_with(_work(options.app, tether, options.number, options.log_format))


def _work(target: str, tether: Tether, number: int, log_format: str | None) -> int:
    try:
        app = load(target)
        set_up_logs(log_format)
        tether.patience = app.settings.seconds("worker.drain_timeout") + 10
        _serve_metrics(app, number)
        try:
            return REPLACE if app.run() else 0
        except DBAPIError as error:
            if not app.database.is_lost(error):
                raise
            log.error("%s", unreachable(app, error))
            return 1
    except TodokeError as error:
        tether.refuse(str(error))
        return REFUSED


def _serve_metrics(app: Todoke, number: int) -> None:
    wish = app.settings.get("telemetry.prometheus")
    if wish == "off":
        return
    try:
        from todoke.prometheus import serve  # noqa: PLC0415
    except ModuleNotFoundError as error:
        remedy = "Run `pip install 'todoke[prometheus]'`."
        raise InvalidOption(
            "telemetry.prometheus", wish, f"{error.name} is missing. {remedy}"
        ) from error
    serve(app, number)


def _end_with(code: int) -> None:
    # The interpreter's end waits for threads that are no daemons, and one of them may hang.
    last = threading.Timer(_FAREWELL, os._exit, [code])
    last.daemon = True
    last.start()
    sys.exit(code)


if __name__ == "__main__":
    main()
