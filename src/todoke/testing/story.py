"""What became of everything, for a person whose test has failed."""

from __future__ import annotations

from todoke.app import Todoke
from todoke.database import reading
from todoke.operate import EventRecord
from todoke.outbox.read import Events

_MOST = 100
_LONGEST_ARGUMENT = 80


def story(app: Todoke) -> str:
    """A line for each event, delivery and job, oldest first."""
    tables = (app.outbox_table, app.inbox_table, app.jobs_table)
    beside = (app.letter_table, app.worker_table, app.lane_table, app.hold_table)
    with app.engine.connect() as connection, reading(connection):
        found = Events(tables, *beside, app.database).list(connection, limit=_MOST)
    now = f"It is {app.clock.now():%Y-%m-%d %H:%M:%S} UTC."
    lines = map(_line, sorted(found, key=lambda one: one.message_id))
    return "\n".join([now, *lines] if found else [now, "No events and no jobs."])


def _line(record: EventRecord) -> str:
    attempts = f", attempt {record.attempts}" if record.attempts else ""
    wrong = f": {record.error_code}: {record.error_message}" if record.error_code else ""
    note = f" ({record.note})" if record.note else ""
    return f"{record.status:<10} {_what(record)}{attempts}{wrong}{note}"


def _what(record: EventRecord) -> str:
    if record.source == "job":
        return f"job {record.type}({_shortened(record.body)})"
    return f"{record.type} {record.key}" + (f" for {record.handler}" if record.handler else "")


def _shortened(argument: str) -> str:
    """As it is in its row; `null` is none."""
    if argument == "null":
        return ""
    return argument if len(argument) <= _LONGEST_ARGUMENT else f"{argument[:_LONGEST_ARGUMENT]}…"
