"""`todoke worker`: run handlers, in as many processes as asked for."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from todoke.app import Todoke
from todoke.cli.finding import AppOption, load, target
from todoke.cli.reach import require_file
from todoke.cli.refusal import Refused
from todoke.cli.screen import counted, one_line
from todoke.cli.worker.logs import set_up_logs
from todoke.cli.worker.supervisor import Supervisor
from todoke.database import safe_url
from todoke.telemetry import log


def worker(
    positional: Annotated[
        str | None,
        typer.Argument(metavar="MODULE:ATTRIBUTE", help="The application.", show_default=False),
    ] = None,
    app: AppOption = None,
    processes: Annotated[
        int | None,
        typer.Option(min=1, help="How many processes; otherwise worker.processes."),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(metavar="NAME=COUNT,…", help="Only these queues, so many at once of each."),
    ] = None,
    log_format: Annotated[
        str | None, typer.Option(metavar="text|json", help="How log lines look.")
    ] = None,
) -> None:
    """Run handlers until SIGTERM or Ctrl-C; a second one does not wait for them."""
    if positional and app and positional != app:
        raise typer.BadParameter("the application is named twice.")
    if log_format not in (None, "text", "json"):
        raise typer.BadParameter("text or json.", param_hint="--log-format")
    if queues is not None:
        # For the children, too: an application reads its settings when it is imported.
        os.environ["TODOKE_WORKER_QUEUES"] = queues
    named = target(positional or app)
    found = load(named)
    require_file(found)
    if queues is not None and found.settings.get("worker.queues") != queues:
        raise Refused("--queues has no effect: the application's code sets worker.queues itself.")
    trouble = _supervise(found, named, processes, log_format)
    if trouble is not None:
        raise Refused(trouble)


def _supervise(app: Todoke, named: str, wish: int | None, log_format: str | None) -> str | None:
    set_up_logs(log_format)
    processes = wish or app.settings.number("worker.processes")
    start = _first_line(app, named, processes)
    if log_format == "json":
        log.info("%s", start)
    else:
        print(start, flush=True)
    arguments = [named, *(["--log-format", log_format] if log_format else [])]
    patience = app.settings.seconds("worker.drain_timeout") + 10
    app.close()
    return Supervisor(arguments, processes, patience).run()


def _first_line(app: Todoke, named: str, processes: int) -> str:
    queues = ", ".join(f"{name}={count}" for name, count in app.settings.queues.items())
    return one_line(
        f"{named} on {safe_url(app.url)}: {counted(len(app.handlers.by_name), 'handler')}, "
        f"queues {queues}, {counted(processes, 'process', 'processes')}"
    )
