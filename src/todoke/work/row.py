"""New rows of a work table, and the statements that write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import insert, select

from todoke.database import Database
from todoke.work.table import WorkTable
from todoke.writing import Ask, Copy, Execute, Writing

_MANY, _VERY_MANY = 16, 256
"""From so many rows on they are copied, where a database takes that, which is a trip more; and made
meanwhile, which is two more."""


class Row(NamedTuple):
    """One piece of new work: what it has in common with others of its kind, and what is its own."""

    shared: Mapping[str, Any]
    delay: float
    locked: bool
    message_id: UUID
    key: str
    strand: int
    lane: int
    body: str
    headers: str | None
    trace_context: str | None
    deliver_before: datetime | None
    settles: UUID | None

    @property
    def values(self) -> dict[str, Any]:
        return {**self.shared, **dict(zip(_OWN, self[_FIRST_OWN:], strict=True))}


_FIRST_OWN = Row._fields.index("message_id")
_OWN = Row._fields[_FIRST_OWN:]


class Coming:
    """Many rows alike, each made only when it is asked for; to be gone through once.

    So a server writes the first of them while the others are being made.
    """

    def __init__(
        self, shared: Mapping[str, Any], delay: float, count: int, rows: Iterator[Row]
    ) -> None:
        self.shared: Mapping[str, Any] = shared
        self.delay: float = delay
        self._count, self._rows = count, rows

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return self._rows


class Inserts:
    """How rows are written: few of them, or many."""

    def __init__(self, table: WorkTable, database: Database) -> None:
        live = table.live
        moments = {"created_at": database.now, "updated_at": database.now}
        # Inline: nobody asks for the ids that the database draws.
        due = insert(live).inline()
        self._due = due.values(scheduled_at=database.now, **moments)
        self._later = due.values(scheduled_at=database.after("delay"), **moments)
        self._live, self._now = live, select(database.now)

    def writing(self, rows: Sequence[Row], *, copies: bool) -> Writing[None]:
        """In the order of the rows, which is the order their ids are drawn in."""
        due = [row for row in rows if not row.delay]
        later = [row for row in rows if row.delay]
        if copies and len(due) >= _MANY:
            now = yield Ask(self._now)
            yield self._copy(due, now)
        elif due:
            values = [row.values for row in due]
            yield Execute(self._due, values if len(values) > 1 else values[0])
        if later:
            yield Execute(self._later, [{**row.values, "delay": row.delay} for row in later])

    def writing_alike(self, rows: Coming, *, copies: bool) -> Writing[None]:
        if not copies or rows.delay or len(rows) < _VERY_MANY:
            yield from self.writing(list(rows), copies=copies)
            return
        shared = {**rows.shared, **_moments((yield Ask(self._now)))}
        made = ((shared, row[_FIRST_OWN:]) for row in rows)
        yield Copy(self._live, _OWN, made, may_stop=True)

    def _copy(self, due: Sequence[Row], now: datetime) -> Copy:
        moments = _moments(now)
        shared = {id(row.shared): {**row.shared, **moments} for row in due}
        rows = ((shared[id(row.shared)], row[_FIRST_OWN:]) for row in due)
        return Copy(self._live, _OWN, rows)


def _moments(now: datetime) -> dict[str, datetime]:
    return dict.fromkeys(("scheduled_at", "created_at", "updated_at"), now)
