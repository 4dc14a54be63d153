"""Log lines of workers: one per record, for people or for programs; tracebacks are indented."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from todoke.cli.screen import one_line, safe
from todoke.telemetry import masked

_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
"""What every record has; whatever else is there was told along with it."""


class TextLines(logging.Formatter):
    """Time in UTC, level, process, logger, message, and the fields that were told along."""

    def format(self, record: logging.LogRecord) -> str:
        told = _extras(record)
        # Mostly the message's id over again; programs get it.
        told.pop("trace_id", None)
        said = " ".join(f"{name}={value}" for name, value in told.items())
        head = f"{_time(record)} {record.levelname:<7} {record.process} {record.name}:"
        line = f"{head} {one_line(f'{masked(record.getMessage())} {said}')}"
        if trail := _traceback(record):
            line += "\n    " + safe(trail).replace("\n", "\n    ")
        return line


class JsonLines(logging.Formatter):
    """One JSON object per record."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname,
            "process": record.process,
            "logger": record.name,
            "message": masked(record.getMessage()),
        }
        told = {**told, **_extras(record), **told}  # a field of the same name hides none of them
        if trail := _traceback(record):
            told["traceback"] = trail
        return json.dumps(told, ensure_ascii=False, default=str)


def set_up_logs(wish: str | None) -> None:
    """Write logs to stderr; an application that has set up its own keeps them unless asked."""
    root = logging.getLogger()
    if root.handlers and wish is None:
        return
    lines = logging.StreamHandler()
    lines.setFormatter(JsonLines() if wish == "json" else TextLines())
    root.handlers[:] = [lines]
    root.setLevel(logging.INFO)
    # It tells of every look at the tables' revision.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _extras(record: logging.LogRecord) -> dict[str, object]:
    told = {name: value for name, value in vars(record).items() if name not in _USUAL}
    return {name: masked(one) if isinstance(one, str) else one for name, one in told.items()}


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _traceback(record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return masked(logging.Formatter().formatException(record.exc_info))
