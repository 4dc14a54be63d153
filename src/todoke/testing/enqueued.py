"""What was enqueued, as the arguments themselves, and how it went: waiting, done or dead."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, is_typeddict

from pydantic import BaseModel, ValidationError
from sqlalchemy import Row, select, union_all

from todoke.app import Todoke
from todoke.database import reading
from todoke.errors import InvalidOption
from todoke.jobs.argument import NOTHING
from todoke.jobs.handler import JobHandler
from todoke.jobs.history import SUCCEEDED
from todoke.jobs.job import ABSENT, Job
from todoke.jobs.records import RunRecord

A = TypeVar("A")
R = TypeVar("R")

_NAMES = ("message_id", "handler", "body")
_ALL = 1_000_000


def enqueued(app: Todoke, job: Job[A, Any]) -> list[A]:
    """The arguments of all jobs of this kind, in the order of enqueueing."""
    handler = _handler(app, job)
    names = (handler.name, *handler.aliases)
    return [_argument(handler, row) for row in _rows(app) if row.handler in names]


def runs(app: Todoke, job: Job[Any, Any]) -> list[RunRecord]:
    """Every attempt at jobs of this kind, in the order of their beginning."""
    name = _handler(app, job).name
    with app.engine.connect() as connection, reading(connection):
        return [*app.jobs.runs(connection, name, limit=_ALL)][::-1]


def results(app: Todoke, job: Job[Any, R]) -> list[R]:
    """What those that succeeded have answered."""
    shape = _handler(app, job).result
    answers = [run.result for run in runs(app, job) if run.status == SUCCEEDED]
    return [shape.load(NOTHING if answer is None else answer) for answer in answers]


def fitting(
    app: Todoke, job: Job[A, Any], argument: object, values: Mapping[str, object]
) -> list[A]:
    """Those that are equal to this argument, and have these values."""
    found, known = enqueued(app, job), _fields(_handler(app, job))
    for name in values:
        if name not in known:
            told = ", ".join(known) or "none; give the argument itself"
            raise InvalidOption(f"{job.name}: {name}", "…", f"no such field. Known: {told}.")
    return [
        one
        for one in found
        if (argument is ABSENT or one == argument)
        and all(_value(one, name) == value for name, value in values.items())
    ]


def wanted(job: Job[Any, Any], argument: object, fields: Mapping[str, object]) -> str:
    values = [] if argument is ABSENT else [repr(argument)]
    values += [f"{name}={value!r}" for name, value in fields.items()]
    return f"{job.name}({', '.join(values)})"


def instead(app: Todoke) -> str:
    """All that was enqueued, for a message that says what was missing."""
    lines = "".join(f"\n  {_told(app, row)}" for row in _rows(app))
    return f"Enqueued were:{lines}" if lines else "Nothing was enqueued, or it is not committed."


def _rows(app: Todoke) -> list[Row[Any]]:
    """Of the jobs table, wherever they are by now; a redriven dead letter lives again elsewhere."""
    live, history, letters = app.jobs_table.live, app.jobs_table.history, app.letter_table
    dead = select(*(letters.c[name] for name in _NAMES)).where(
        letters.c.source == app.jobs_table.source,
        letters.c.closed_as.is_distinct_from("redriven"),
    )
    parts = [select(*(table.c[name] for name in _NAMES)) for table in (live, history)]
    with app.engine.connect() as connection, reading(connection):
        found = connection.execute(union_all(*parts, dead)).all()
    # Not by the row's id: a redriven job gets another. Ids of messages are drawn in order.
    return sorted(found, key=lambda row: row.message_id)


def _handler(app: Todoke, job: Job[Any, Any]) -> JobHandler:
    found = app.handlers.jobs.get(job.name) if isinstance(job, Job) else None
    if found is None or found.job is not job:
        raise InvalidOption("job", job, "no job of this application. Pass what @app.job made.")
    return found


def _argument(handler: JobHandler, row: Row[Any]) -> Any:
    return None if handler.argument is None else handler.argument.load(row.body)


def _told(app: Todoke, row: Row[Any]) -> str:
    handler = app.handlers.jobs.get(row.handler)
    try:
        argument = row.body if handler is None else _argument(handler, row)
    except ValidationError:
        argument = row.body
    taken = handler is None or handler.argument is not None
    return f"{row.handler}({argument!r})" if taken else f"{row.handler}()"


def _fields(handler: JobHandler) -> list[str]:
    """The names by which a part of the argument can be asked for."""
    kind = None if handler.argument is None else handler.argument.kind
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return list(kind.model_fields)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return [one.name for one in dataclasses.fields(kind)]
    return list(kind.__annotations__) if is_typeddict(kind) else []


def _value(argument: Any, name: str) -> object:
    return argument.get(name) if isinstance(argument, dict) else getattr(argument, name)
