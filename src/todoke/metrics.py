"""What this process has counted, and how long what is due has been waiting.

Ages are read from the database when somebody asks. What is ready lies by stream and lane in the
claim's index, the oldest first, and is read so far and no further:

    exact      while no lane has more rows waiting than are read of it
    at most    beyond that: the rows that were not read came later than those of their lane that
               were, so none of them is due for longer, and the age told is not below the true one

What waits for its time is not due, and what is held waits for its key: both are left out.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Select,
    Table,
    bindparam,
    literal_column,
    select,
    union_all,
)

from todoke.both import both
from todoke.database import Database
from todoke.handlers import Handlers
from todoke.telemetry import Counted, Tally
from todoke.work.claim import Claims
from todoke.work.item import LATER, READY, SUSPECT
from todoke.work.strand import LANES, UNORDERED, context_of
from todoke.work.table import WorkTable, in_state

OF_A_LANE, OF_MANY = 50, 2_000
"""How many rows are read of a lane, and of what lies in no lane."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many messages of one kind this process has enqueued, sent, failed or aborted."""

    counted: Counted
    context: str
    type: str
    handler: str
    """Empty for what is enqueued, and where no one handler is known."""
    code: str
    """Why it failed or was aborted; empty otherwise."""
    total: int


@dataclass(frozen=True, slots=True)
class Age:
    """How long what is due in one context has been waiting for a worker."""

    context: str
    p95: timedelta
    """95 of 100 wait for no longer than this."""
    oldest: timedelta
    exact: bool
    """False where so much waits that not all was read: then both are at most what is told."""


class Metrics:
    """Reads the counters of this process, and ages from the database."""

    def __init__(
        self,
        tables: Sequence[WorkTable],
        claims: Sequence[Claims],
        database: Database,
        handlers: Callable[[], Handlers],
        tally: Tally,
    ) -> None:
        self.tally: Tally = tally
        self._handlers = handlers
        self._waits = [
            _Waits(table.live, of, database) for table, of in zip(tables, claims, strict=True)
        ]
        self._now = select(database.now)

    def counts(self) -> list[Count]:
        """What was counted since this process began; no database is asked."""
        found = self.tally.read()
        return [
            Count(
                counted, context, type, self._handler(counted, context, type, handler), code, total
            )
            for (counted, context, type, handler, code), total in sorted(found.items(), key=str)
        ]

    @both
    def ages(self, connection: Connection) -> list[Age]:
        """By context, where something is due; what is read is bounded, whatever the backlog."""
        now = connection.execute(self._now).scalar_one()
        found: defaultdict[str, list[_Part]] = defaultdict(list)
        for waits in self._waits:
            for stream, part in waits.parts(connection):
                found[context_of(stream)].append(part)
        return [_age(context, parts, now) for context, parts in sorted(found.items())]

    def _handler(self, counted: Counted, context: str, type: str, handler: str | None) -> str:
        """An event that its one handler took in place does not name it."""
        if handler is not None or counted == "enqueued":
            return handler or ""
        known = self._handlers().names_of(context, type)
        return known[0] if len(known) == 1 else ""


@dataclass(frozen=True, slots=True)
class _Part:
    """Since when rows of one lane are due, the first of them; before when none of the rest is."""

    due: Sequence[datetime]
    rest: datetime | None


class _Waits:
    """Reads of one work table what is due."""

    def __init__(self, live: Table, claims: Claims, database: Database) -> None:
        self._live, self._claims, self._database = live, claims, database

    # Made when somebody asks: with a part for each lane they take longer than all other statements.
    @cached_property
    def _ready(self) -> CompoundSelect[Any]:
        return union_all(
            *(_first(self._live, lane, OF_A_LANE) for lane in range(LANES)),
            _first(self._live, UNORDERED, OF_MANY),
        )

    @cached_property
    def _aside(self) -> tuple[Select[Any], Select[Any]]:
        live = self._live
        due = live.c.scheduled_at <= self._database.once(self._database.now)
        aside = select(live.c.stream, live.c.scheduled_at, live.c.created_at).limit(OF_MANY)
        return (
            aside.where(in_state(live, SUSPECT), live.c.owner.is_(None)).order_by(
                live.c.stream, live.c.lane, live.c.priority, live.c.id
            ),
            aside.where(in_state(live, LATER), due).order_by(live.c.scheduled_at),
        )

    def parts(self, connection: Connection) -> Iterator[tuple[str, _Part]]:
        stream = ""
        while following := self._claims.stream_after(connection, READY, stream):
            stream = following
            rows = connection.execute(self._ready, {"of_stream": stream}).all()
            for lane, of_lane in _grouped(rows).items():
                yield stream, _part(of_lane, is_all=len(of_lane) < _read_of(lane))
        for statement in self._aside:
            rows = connection.execute(statement).all()
            for name, of_stream in _grouped(rows).items():
                yield name, _part(of_stream, is_all=len(rows) < OF_MANY)


def _first(live: Table, lane: int, limit: int) -> Select[Any]:
    number: ColumnElement[int] = literal_column(str(lane))
    rows = (
        select(number.label("lane"), live.c.scheduled_at, live.c.created_at)
        .where(in_state(live, READY), live.c.stream == bindparam("of_stream"))
        .where(live.c.lane == number, live.c.owner.is_(None))
        .order_by(live.c.priority, live.c.id)
        .limit(literal_column(str(limit)))
        .subquery(f"lane_{lane % (LANES + 1)}")
    )
    return select(rows)


def _read_of(lane: int) -> int:
    return OF_MANY if lane == UNORDERED else OF_A_LANE


def _grouped(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    grouped: defaultdict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        grouped[row[0]].append(row)
    return grouped


def _part(rows: Sequence[Any], *, is_all: bool) -> _Part:
    # What came later was not due before it came; what was tried already is due anew since then.
    due, created = [row[1] for row in rows], [row[2] for row in rows]
    return _Part(due, None if is_all else max(created))


def _age(context: str, parts: Sequence[_Part], now: datetime) -> Age:
    due = sorted(moment for part in parts for moment in part.due)
    # So many are older than the 95th of a hundred.
    middle = due[len(due) - math.ceil(0.95 * len(due))]
    rest = [part.rest for part in parts if part.rest is not None]
    p95, oldest, nothing = now - min([middle, *rest]), now - min([due[0], *rest]), timedelta()
    return Age(context, max(p95, nothing), max(oldest, nothing), not rest)
