"""`todoke worker`: run handlers, in as many processes as asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
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

_OPTIONS = {"queues": "--queues", "contexts": "--context"}


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
    contexts: Annotated[
        list[str] | None,
        typer.Option(
            "--context",
            metavar="NAME,…",
            help="Only work of these contexts; may be repeated.",
            show_default=False,
        ),
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
    wishes = {"queues": queues, "contexts": ",".join(contexts) if contexts else None}
    _set(wishes)
    named = target(positional or app)
    found = load(named)
    require_file(found)
    _require_effect(found, wishes)
    if contexts:
        _require_known(found)
    trouble = _supervise(found, named, processes, log_format)
    if trouble is not None:
        raise Refused(trouble)


def _set(wishes: Mapping[str, str | None]) -> None:
    # For the children, too: an application reads its settings when it is imported.
    said = {name: value for name, value in wishes.items() if value is not None}
    os.environ.update({f"TODOKE_WORKER_{name.upper()}": value for name, value in said.items()})


def _require_effect(app: Todoke, wishes: Mapping[str, str | None]) -> None:
    for name, value in wishes.items():
        if value is not None and app.settings.get(f"worker.{name}") != value:
            raise Refused(
                f"{_OPTIONS[name]} has no effect: the application's code sets worker.{name} itself."
            )


def _require_known(app: Todoke) -> None:
    """A misspelt context would make a worker that does nothing."""
    known = app.context_names
    for name in app.settings.contexts or ():
        if name not in known:
            raise Refused(
                f"--context {name}: the application has no such context. "
                f"Known: {', '.join(sorted(known))}."
            )


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
    contexts = app.settings.contexts
    only = "" if contexts is None else f"contexts {', '.join(contexts)}, "
    jobs = len({one.name for one in app.handlers.jobs.values()})
    does = [
        counted(len(app.handlers.by_name), "handler"),
        *([counted(jobs, "job")] if jobs else []),
    ]
    return one_line(
        f"{named} on {safe_url(app.url)}: {', '.join(does)}, "
        f"{only}queues {queues}, {counted(processes, 'process', 'processes')}"
    )
