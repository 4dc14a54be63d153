"""Log lines of workers: one per record, for people or for programs; tracebacks are indented."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from todoke.cli.screen import one_line, safe
from todoke.telemetry import masked

EXTRAS = ("message_id", "handler", "attempt", "trace_id")


class TextLines(logging.Formatter):
    """Time in UTC, level, process, logger, message, and which message and attempt it is about."""

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
        told = {
            "time": _time(record),
            "level": record.levelname,
            "process": record.process,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **_extras(record),
        }
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
    return {name: getattr(record, name) for name in EXTRAS if hasattr(record, name)}


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _traceback(record: logging.LogRecord) -> str:
    if not record.exc_info:
        return ""
    return masked(logging.Formatter().formatException(record.exc_info))
