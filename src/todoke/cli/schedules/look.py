"""`todoke schedules list`, `next` and `ticks`: when they are due, and what became of it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from todoke.cli.finding import AppOption, JsonOption, application
from todoke.cli.reach import reading
from todoke.cli.screen import Cell, length, moment, note, say, say_json, table
from todoke.jobs.schedules import ScheduleRecord, TickRecord
from todoke.jobs.timetable import Due

Name = Annotated[str, typer.Argument(help="The schedule's name.", show_default=False)]
Limit = Annotated[int, typer.Option(min=1, help="At most so many.")]

_STYLES = {
    "RAN": "green",
    "LATE": "yellow",
    "WAITING": "yellow",
    "SKIPPED": "cyan",
    "MISSED": "red",
}
_OF_SCHEDULES = ["NAME", "JOB", "TIMETABLE", "ZONE", "NEXT", "LAST", "STATUS", "NOTE"]
_OF_TICKS = ["DUE", "STATUS", "TICKS", "REASON", "JOB ID"]


def list_schedules(app: AppOption = None, as_json: JsonOption = False) -> None:
    """List recurring jobs: their timetable, when they are due next, what the last tick became."""
    with application(app) as found, reading(found) as connection:
        records, now = found.schedules.list(connection), found.clock.now()
    if as_json:
        say_json([asdict(one) for one in records])
    elif records:
        rows = [_schedule(one, now) for one in records]
        say(*table(_OF_SCHEDULES, rows, shrink=["NOTE", "JOB", "NAME"]))
    else:
        note("No schedule is declared.")


def next_dues(
    name: Name,
    app: AppOption = None,
    count: Annotated[int, typer.Option(min=1, max=10_000, help="So many.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show when a schedule is due next, and where its clock is changed; asks no database."""
    with application(app) as found:
        dues = found.schedules.next(name, count)
    if as_json:
        say_json([{"due": one.at, "local": one.local, "mark": one.mark or None} for one in dues])
    else:
        say(*table(["DUE", "LOCAL", "CLOCK"], [_due(one) for one in dues], shrink=[]))


def ticks(
    name: Name, app: AppOption = None, limit: Limit = 50, as_json: JsonOption = False
) -> None:
    """Show what became of a schedule's due times, newest first."""
    with application(app) as found, reading(found) as connection:
        records = found.schedules.ticks(connection, name, limit)
    if as_json:
        say_json([asdict(one) for one in records])
    elif records:
        say(*table(_OF_TICKS, [_tick(one) for one in records], shrink=["REASON"]))
    else:
        note(f"Nothing of {name} was due yet.")


def fate(status: str) -> Text:
    return Text(status, style=_STYLES.get(status, ""))


def _schedule(record: ScheduleRecord, now: datetime) -> list[Cell]:
    return [
        record.name,
        record.job,
        record.timetable,
        record.zone,
        "never" if record.next_due is None else f"in {length(record.next_due - now)}",
        "never" if record.last_due is None else f"{length(now - record.last_due)} ago",
        fate(record.last_status or ""),
        _note(record),
    ]


def _note(record: ScheduleRecord) -> str:
    if record.paused_by is not None:
        return f"paused by {record.paused_by}: {record.paused_reason}"
    if record.is_off:
        return "off"
    waiting = f"{record.waiting} wait" if record.waiting else None
    return waiting or record.last_reason or ""


def _due(due: Due) -> list[Cell]:
    return [moment(due.at) or "", f"{due.local:%a %Y-%m-%d %H:%M:%S %Z}", due.mark]


def _tick(record: TickRecord) -> list[Cell]:
    due = moment(record.due) or ""
    if record.last_due is not None:
        due += f" to {moment(record.last_due)}"
    late = record.noted_at - record.due
    told = f"{length(late)} late" if record.status == "LATE" and late > timedelta(0) else ""
    return [
        due,
        fate(record.status),
        f"{record.count:,}",
        ", ".join(filter(None, (record.reason, told))),
        "" if record.job_id is None else str(record.job_id),
    ]
