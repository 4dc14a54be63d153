"""Where a job is: living, in the history, or among the dead letters.

Merges limited reads instead of asking a view of everything. All three keep the id that was drawn
when the job was enqueued, so the newest are found by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Select, Table, bindparam, literal, null, or_, select
from sqlalchemy.sql import ColumnElement

from todoke.database import UNIQUE_ID
from todoke.jobs.records import CANCELLED, DEAD, PENDING, PROCESSED, PROCESSING
from todoke.work.table import WorkTable

LIVE, HISTORY, LETTERS = "live", "history", "letters"
_TRIES = 2
_ESCAPE = "!"


class Found(NamedTuple):
    """A row of a job, from wherever it was."""

    row: int
    id: UUID
    place: str
    state: str | None
    job: str
    context: str
    stream: str
    priority: int
    key: str
    strand: int | None
    body: str
    headers: str | None
    attempt: int
    spared: int
    crashes: int
    max_attempts: int | None
    owner: UUID | None
    error_code: str | None
    error_message: str | None
    note: str | None
    created_at: datetime
    scheduled_at: datetime | None
    claimed_at: datetime | None
    settled_at: datetime | None
    worker_name: str | None
    letter: UUID | None
    closed_as: str | None

    @property
    def status(self) -> str:
        if self.place == LIVE:
            return PENDING if self.owner is None else PROCESSING
        if self.place == LETTERS:
            return DEAD
        return CANCELLED if (self.note or "").startswith(CANCELLED) else PROCESSED

    @property
    def attempts(self) -> int:
        """How many were made that count; one that runs is among them."""
        return self.attempt - self.spared


class Whereabouts:
    """Finds rows of jobs; takes no locks."""

    def __init__(self, work: WorkTable, letters: Table) -> None:
        self._source = work.source
        self._tables = {LIVE: work.live, HISTORY: work.history, LETTERS: letters}
        this = bindparam("of_message", type_=UNIQUE_ID)
        self._one = {
            place: self._rows(place).where(table.c.message_id == this)
            for place, table in self._tables.items()
        }

    def one(self, connection: Connection, id: UUID) -> Found | None:
        """The job of this id; it may move while it is looked for."""
        for _ in range(_TRIES):
            for statement in self._one.values():
                row = connection.execute(statement, {"of_message": id}).first()
                if row is not None:
                    return Found(*row)
        return None

    def newest(
        self,
        connection: Connection,
        *,
        status: str | None,
        jobs: Sequence[str] | None,
        queue: str | None,
        limit: int,
    ) -> list[Found]:
        """Those that fit, the newest first."""
        found = [
            Found(*row)
            for place in self._tables
            if status is None or place == _PLACES[status]
            for row in connection.execute(self._narrowed(place, status, jobs, queue, limit))
        ]
        return sorted(found, key=lambda one: one.row, reverse=True)[:limit]

    def _rows(self, place: str) -> Select[Any]:
        """The columns of Found; null where a table has no such column."""
        columns = self._tables[place].c
        here = {
            "row": columns.item_id if place == LETTERS else columns.id,
            "id": columns.message_id,
            "place": literal(place),
            "job": columns.handler,
            "settled_at": columns.died_at if place == LETTERS else columns.get("settled_at"),
            "letter": columns.id if place == LETTERS else None,
        }
        told = [here.get(name, columns.get(name)) for name in Found._fields]
        rows = select(*(null() if one is None else one for one in told))
        if place != LETTERS:
            return rows
        still = columns.closed_as.is_distinct_from("redriven")
        return rows.where(columns.source == self._source, still)

    def _narrowed(
        self,
        place: str,
        status: str | None,
        jobs: Sequence[str] | None,
        queue: str | None,
        limit: int,
    ) -> Select[Any]:
        table = self._tables[place]
        rows = self._rows(place)
        if jobs is not None:
            rows = rows.where(table.c.handler.in_(jobs))
        if queue is not None:
            rows = rows.where(of_queue(table, queue))
        if status is not None and place != LETTERS:
            rows = rows.where(_of_status(table, status))
        newest = table.c.item_id if place == LETTERS else table.c.id
        return rows.order_by(newest.desc()).limit(limit)


_PLACES = {
    PENDING: LIVE,
    PROCESSING: LIVE,
    PROCESSED: HISTORY,
    CANCELLED: HISTORY,
    DEAD: LETTERS,
}


def of_queue(table: Table, queue: str) -> ColumnElement[bool]:
    """Rows of "files", or of "shipping/files"; a stream may name its destination behind that."""
    stream, name = table.c.stream, _literally(queue)

    def like(pattern: str) -> ColumnElement[bool]:
        return stream.like(pattern, escape=_ESCAPE)

    if "/" in queue:
        return or_(stream == queue, like(f"{name}/%"))
    is_destination = like(f"%/%/{name}")
    return or_(like(f"%/{name}") & ~is_destination, like(f"%/{name}/%"))


def _literally(text: str) -> str:
    """Text that a pattern takes for itself."""
    return "".join(f"{_ESCAPE}{one}" if one in f"%_{_ESCAPE}" else one for one in text)


def _of_status(table: Table, status: str) -> ColumnElement[bool]:
    if status in (PENDING, PROCESSING):
        free: ColumnElement[bool] = table.c.owner.is_(None)
        return free if status == PENDING else ~free
    cancelled = table.c.note.startswith(CANCELLED)
    return cancelled if status == CANCELLED else or_(table.c.note.is_(None), ~cancelled)
