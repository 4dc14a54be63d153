"""`--follow`: progress bars of jobs while they run; one JSON object a line for programs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from uuid import UUID

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from todoke.app import Todoke
from todoke.cli.jobs.page import progress, summary
from todoke.cli.reach import reading
from todoke.cli.refusal import Refused
from todoke.cli.screen import console, counted, length, one_line, safe, say_json
from todoke.jobs.records import PROCESSING, JobRecord, RunRecord

EVERY = 1.0
Wait = Callable[[float], object]


def follow_one(
    app: Todoke,
    id: UUID,
    *,
    as_json: bool = False,
    screen: Console | None = None,
    wait: Wait | None = None,
) -> bool:
    """Until the job has ended, or Ctrl-C; True where there is more to be shown of it."""
    rest = wait or threading.Event().wait
    try:
        if as_json:
            _tell_one(app, id, rest)
        else:
            _show_one(app, id, _terminal(screen), rest)
    except KeyboardInterrupt:
        return False
    return not as_json


def follow_jobs(
    app: Todoke,
    *,
    job: str | None = None,
    queue: str | None = None,
    limit: int = 50,
    as_json: bool = False,
    screen: Console | None = None,
    wait: Wait | None = None,
) -> None:
    """All jobs that run, until Ctrl-C."""
    rest = wait or threading.Event().wait

    def look() -> Sequence[JobRecord]:
        with reading(app) as connection:
            return app.jobs.list(connection, status=PROCESSING, job=job, queue=queue, limit=limit)

    try:
        if as_json:
            while True:
                say_json([summary(one) for one in look()], indent=None)
                rest(EVERY)
        _show_all(look, _terminal(screen), rest, app.clock.now)
    except KeyboardInterrupt:
        return


def _terminal(screen: Console | None) -> Console:
    screen = screen or console()
    if not screen.is_terminal:
        raise Refused("--follow needs a terminal. For programs there is --follow --json.")
    return screen


# --- one -------------------------------------------------------------------------------------


def _look(app: Todoke, id: UUID) -> tuple[JobRecord, RunRecord | None]:
    with reading(app) as connection:
        record = app.jobs.get(connection, id)
        runs = app.jobs.runs(connection, id=record.id, limit=1)
    return record, runs[0] if runs else None


def _tell_one(app: Todoke, id: UUID, wait: Wait) -> None:
    told = None
    while True:
        record, _ = _look(app, id)
        if (now := summary(record)) != told:
            say_json(now, indent=None)
            told = now
        if record.has_ended:
            return
        wait(EVERY)


def _show_one(app: Todoke, id: UUID, screen: Console, wait: Wait) -> None:
    """What its run logs stays above the bar."""
    logged: Sequence[str] = ()
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        while True:
            record, run = _look(app, id)
            lines = [] if run is None else run.log
            for line in _new(logged, lines):
                live.console.print(Text(safe(line)))
            logged = lines
            live.update(bars([record], app.clock.now(), screen), refresh=True)
            if record.has_ended:
                return
            wait(EVERY)


def _new(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """Lines that came since; only the last ones are kept, so the first may be gone."""
    for kept in range(min(len(before), len(now)), 0, -1):
        if list(before[-kept:]) == list(now[:kept]):
            return now[kept:]
    return now


# --- many ------------------------------------------------------------------------------------


def _show_all(
    look: Callable[[], Sequence[JobRecord]],
    screen: Console,
    wait: Wait,
    now: Callable[[], datetime],
) -> None:
    with Live(console=screen, auto_refresh=False, transient=True) as live:
        while True:
            records = look()
            foot = Text(f"{counted(len(records), 'job')} running; Ctrl-C ends", style="dim")
            live.update(Group(bars(records, now(), screen), foot), refresh=True)
            wait(EVERY)


def bars(records: Sequence[JobRecord], now: datetime, screen: Console) -> Progress:
    """A progress bar for each job, in the order they are given."""
    made = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TextColumn("{task.fields[age]}", markup=False),
        console=screen,
        auto_refresh=False,
    )
    for one in records:
        made.add_task(
            one_line(f"{one.job} {one.id} {one.status}"),
            start=one.status == PROCESSING,
            total=one.total,
            completed=one.processed or 0,
            told=progress(one.processed, one.total) or one_line(one.why_waiting or ""),
            age=length(now - one.created_at),
        )
    return made
