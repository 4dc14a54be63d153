"""`todoke schedules run`, `pause`, `resume` and `backfill`: acts with an author and a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from todoke.app import Todoke
from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.options import By, DryRun, Reason
from todoke.cli.reach import acting, reading
from todoke.cli.schedules.look import Name, fate
from todoke.cli.screen import Cell, counted, moment, say, say_json, table
from todoke.errors import InvalidOption, NotFound
from todoke.jobs.backfill import Backfilled

_DAY, _INSTANT = timedelta(days=1), timedelta(microseconds=1)
_ONLY_A_DATE = len("2026-01-31")


def run(
    name: Name, by: By, reason: Reason, app: AppOption = None, as_json: JsonOption = False
) -> None:
    """Enqueue a schedule's job now; it waits where the run before is still going."""
    with application(app) as found, acting(found) as connection:
        tick = found.schedules.run(connection, name, by=by, reason=reason)
    if as_json:
        say_json(asdict(tick))
    elif tick.job_id is not None:
        say(f"{name}: job {tick.job_id} is enqueued.")
    else:
        say(f"{name}: {tick.status}, {tick.reason}.")


def pause(
    name: Name, by: By, reason: Reason, app: AppOption = None, as_json: JsonOption = False
) -> None:
    """Skip a schedule's ticks until it is resumed."""
    with application(app) as found, acting(found) as connection:
        changed = found.schedules.pause(connection, name, by=by, reason=reason)
    _tell(name, changed, "is paused", "was paused already", as_json=as_json)


def resume(
    name: Name, by: By, reason: Reason, app: AppOption = None, as_json: JsonOption = False
) -> None:
    """Let a paused schedule go on with its next tick."""
    with application(app) as found, acting(found) as connection:
        changed = found.schedules.resume(connection, name, by=by, reason=reason)
    _tell(name, changed, "goes on", "was not paused", as_json=as_json)


def backfill(
    name: Name,
    by: By,
    reason: Reason,
    start: Annotated[str, typer.Option("--from", help="First moment, in the schedule's zone.")],
    end: Annotated[str, typer.Option("--to", help="Last moment; a date means all of its day.")],
    app: AppOption = None,
    cap: Annotated[int, typer.Option(help="Refuse more than so many.")] = 100,
    dry_run: DryRun = False,
    as_json: JsonOption = False,
) -> None:
    """Enqueue what was due in a time of the past and did not run."""
    with application(app) as found:
        first, last = _span(found, name, start, end)
        with (reading if dry_run else acting)(found) as connection:
            done = found.schedules.backfill(
                connection, name, first, last, by=by, reason=reason, dry_run=dry_run, cap=cap
            )
    if as_json:
        say_json([asdict(one) for one in done])
    else:
        _tell_backfill(name, done, dry_run=dry_run)


def _tell(name: str, changed: bool, done: str, was: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"schedule": name, "changed": changed})
    else:
        say(f"{name} {done if changed else was}.")


def _tell_backfill(name: str, done: Sequence[Backfilled], *, dry_run: bool) -> None:
    would = "would be" if dry_run else "are" if len(done) != 1 else "is"
    say(f"{name}: {counted(len(done), 'tick')} {would} backfilled.")
    if done:
        say(*table(["DUE", "WAS", "BECOMES"], [_row(one) for one in done], shrink=[]))


def _row(tick: Backfilled) -> list[Cell]:
    return [moment(tick.due) or "", tick.was or "none", fate(tick.status)]


def _span(app: Todoke, name: str, start: str, end: str) -> tuple[datetime, datetime]:
    """What people type is in the schedule's own zone, unless they say another."""
    schedule = app.handlers.schedules.get(name)
    if schedule is None:
        raise NotFound("schedule", name)
    zone = ZoneInfo(schedule.timetable.zone)
    last = _moment(end, zone, "--to")
    if len(end.strip()) == _ONLY_A_DATE:
        last += _DAY - _INSTANT
    return _moment(start, zone, "--from"), last


def _moment(text: str, zone: ZoneInfo, option: str) -> datetime:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidOption(option, text, 'write "2026-01-31" or "2026-01-31 09:00".') from None
    return found if found.tzinfo is not None else found.replace(tzinfo=zone)
