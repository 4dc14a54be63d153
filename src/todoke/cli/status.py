"""`todoke status`: one screen of figures."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text
from sqlalchemy import select

from todoke.app import Todoke
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.reach import reading
from todoke.cli.refusal import Refused
from todoke.cli.screen import console, counted, length, one_line, say, say_json, table
from todoke.database import safe_url
from todoke.errors import TodokeError
from todoke.outbox.read import Status
from todoke.runtime import Runtime
from todoke.work.destination_table import DestinationRecord

_EVERY = 1.0


def status(
    app: AppOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until Ctrl-C.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what waits, what runs, what died, and who works."""
    with application(app) as found:
        show = _say_json if as_json else _say
        if not watch:
            show(look(found))
        elif as_json:
            _watch_json(found)
        else:
            _watch(found)


@dataclass(frozen=True, slots=True)
class Worker:
    """One worker process; its lease is ok while it is renewed in time."""

    id: str
    name: str
    started_at: datetime
    lease_ok: bool
    lanes: int


@dataclass(frozen=True, slots=True)
class Look:
    """The figures at one moment."""

    app: str
    database: str
    now: datetime
    figures: Status
    workers: list[Worker]
    destinations: list[DestinationRecord]


def look(app: Todoke) -> Look:
    """What the database knows now."""
    leases = Runtime(app).leases
    with reading(app) as connection:
        figures = app.events.status(connection)
        living = leases.living(connection)
        destinations = app.destinations.status(connection)
        now = connection.execute(select(app.database.now)).scalar_one()
    workers = [
        Worker(str(one["id"]), one["name"], one["started_at"], one["id"] in living, one["lanes"])
        for one in figures.workers
    ]
    return Look(app.name, safe_url(app.url), now, figures, workers, destinations)


def _data(look: Look) -> dict[str, Any]:
    figures = look.figures
    return {
        "pending": figures.pending,
        "processing": figures.processing,
        "processed_last_minute": figures.processed_last_minute,
        "dead_letters": figures.dead,
        "oldest_pending_seconds": figures.oldest_pending,
        "held_keys": figures.held_keys,
        "oldest_hold_seconds": figures.oldest_hold,
        "behind_a_key": figures.behind_a_key,
        "destinations": [
            {"name": one.name, "open_until": one.open_until, "slots_held": one.slots_held}
            for one in look.destinations
        ],
        "workers": [
            {
                "id": one.id,
                "name": one.name,
                "started_at": one.started_at,
                "lease_ok": one.lease_ok,
                "lanes": one.lanes,
            }
            for one in look.workers
        ],
    }


def _screen(look: Look) -> list[Text]:
    figures = look.figures
    oldest = figures.oldest_pending
    waiting = f"the oldest for {length(oldest)}" if oldest is not None and figures.pending else ""
    return [
        Text.assemble((look.app, "bold"), f"  {look.database}  {look.now:%H:%M:%S} UTC"),
        Text(""),
        _figure("pending", figures.pending, waiting, "yellow"),
        _figure("processing", figures.processing, "", "cyan"),
        _figure("processed", figures.processed_last_minute, "in the last minute", "green"),
        _figure("dead letters", figures.dead, "open" if figures.dead else "", "red"),
        _figure("held keys", figures.held_keys, _held(figures), "yellow"),
        Text(""),
        *_destinations(look),
        *_workers(look),
    ]


def _figure(name: str, number: int, remark: str, style: str) -> Text:
    shown = (f"{number:>9,}", f"bold {style}" if number else "dim")
    return Text.assemble((f"{name:<14}", "dim"), shown, f"  {remark}" if remark else "")


def _held(figures: Status) -> str:
    if figures.oldest_hold is None:
        return ""
    waiting = counted(figures.behind_a_key, "waits", "wait")
    return f"the oldest for {length(figures.oldest_hold)}; behind them {waiting}"


def _destinations(look: Look) -> list[Text]:
    if not look.destinations:
        return []
    rows = [(one.name, _breaker(one, look.now), str(one.slots_held)) for one in look.destinations]
    return [
        Text(counted(len(rows), "destination"), style="bold"),
        *table(["NAME", "BREAKER", "SLOTS HELD"], rows, shrink=["NAME"]),
        Text(""),
    ]


def _breaker(one: DestinationRecord, now: datetime) -> Text:
    if one.open_until is None:
        return Text("closed", style="green")
    if one.open_until <= now:
        return Text("open, to be tried", style="yellow")
    return Text(f"open until {one.open_until:%H:%M:%S} UTC", style="red")


def _workers(look: Look) -> list[Text]:
    if not look.workers:
        return [Text("no worker is running", style="yellow")]
    rows = [
        (one.name, length(look.now - one.started_at), _lease(one.lease_ok), str(one.lanes))
        for one in look.workers
    ]
    return [
        Text(counted(len(rows), "worker"), style="bold"),
        *table(["NAME", "SINCE", "LEASE", "LANES"], rows, shrink=["NAME"]),
    ]


def _lease(is_ok: bool) -> Text:
    return Text("ok", style="green") if is_ok else Text("ran out", style="red")


def _say(look: Look) -> None:
    say(*_screen(look))


def _say_json(look: Look) -> None:
    say_json(_data(look))


def _watch(app: Todoke) -> None:
    screen = console()
    if not screen.is_terminal:
        raise Refused("--watch needs a terminal. For programs there is --watch --json.")
    pause = threading.Event()
    with Live(console=screen, auto_refresh=False, screen=True) as live:
        try:
            while not pause.wait(0 if live.renderable is None else _EVERY):
                live.update(Group(*_screen_or_trouble(app)), refresh=True)
        except KeyboardInterrupt:
            return


def _screen_or_trouble(app: Todoke) -> list[Text]:
    try:
        return [*_screen(look(app)), Text(""), Text("Ctrl-C ends", style="dim")]
    except TodokeError as error:
        return [Text(one_line(str(error)), style="red"), Text("trying again", style="dim")]


def _watch_json(app: Todoke) -> None:
    pause = threading.Event()
    try:
        while True:
            say_json(_data(look(app)), indent=None)
            pause.wait(_EVERY)
    except KeyboardInterrupt:
        return
