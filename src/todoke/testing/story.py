"""What became of everything, for a person whose test has failed."""

from __future__ import annotations

from todoke.app import Todoke
from todoke.database import reading
from todoke.operate import EventRecord

_MOST = 100


def story(app: Todoke) -> str:
    """A line for each event and delivery, oldest first."""
    with app.engine.connect() as connection, reading(connection):
        found = app.events.list(connection, limit=_MOST)
    now = f"It is {app.clock.now():%Y-%m-%d %H:%M:%S} UTC."
    return "\n".join([now, *map(_line, reversed(found))] if found else [now, "No events."])


def _line(record: EventRecord) -> str:
    who = f" for {record.handler}" if record.handler else ""
    attempts = f", attempt {record.attempts}" if record.attempts else ""
    wrong = f": {record.error_code}: {record.error_message}" if record.error_code else ""
    note = f" ({record.note})" if record.note else ""
    return f"{record.status:<10} {record.type} {record.key}{who}{attempts}{wrong}{note}"
