"""Ending jobs by a person's word: those that wait now, those that run as soon as they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    delete,
    func,
    insert,
    select,
)

from todoke.database import UNIQUE_ID, Database
from todoke.identity import Identities
from todoke.jobs.aftermath import CANCELLED, Endings
from todoke.jobs.history import SKIPPED, RunHistory
from todoke.jobs.table import JobTables
from todoke.jobs.ties import Ties, ties_of
from todoke.jobs.whereabouts import of_queue
from todoke.work.item import Item
from todoke.work.table import CARRIED, ERROR, TOLD

_AT_ONCE = 500


class Cancelling:
    """Moves waiting jobs into the history, and asks for the end of running ones."""

    def __init__(
        self,
        tables: JobTables,
        endings: Endings,
        history: RunHistory,
        identities: Identities,
        database: Database,
    ) -> None:
        live, kept = tables.work.live, tables.work.history
        self._live, self._endings, self._history = live, endings, history
        self._identities, self._now = identities, select(database.now)
        # Whoever has one locked is about to take it, or works in a transaction that takes long.
        self._free = (
            select(*(live.c[name] for name in Item._fields))
            .where(live.c.owner.is_(None))
            .with_for_update(skip_locked=True)
        )
        this = live.c.message_id == bindparam("of_message", type_=UNIQUE_ID)
        self._one = self._free.where(this)
        mine = (database.among(live.c.id, "ids"), live.c.owner.is_(None))
        names = ["id", *CARRIED, *TOLD, *ERROR]
        note = cast(bindparam("note", type_=Text()), Text)
        rows = select(*(live.c[name] for name in names), note, database.now).where(*mine)
        self._copy = insert(kept).from_select(
            [*names, "note", "settled_at"], rows, include_defaults=False
        )
        self._delete = delete(live).where(*mine)
        self._ask = database.add_missing(tables.cancellations).values(asked_at=database.now)

    def one(self, connection: Connection, id: UUID, by: str, reason: str) -> bool:
        """False where it does not wait, or somebody is just taking it."""
        row = connection.execute(self._one, {"of_message": id}).first()
        if row is not None:
            self._end(connection, [Item._make(row)], _note(by, reason))
        return row is not None

    def all(
        self,
        connection: Connection,
        jobs: Sequence[str] | None,
        queue: str | None,
        by: str,
        reason: str,
    ) -> int:
        """End all of these that wait; answers how many."""
        id = self._live.c.id
        free = self._free.where(id > bindparam("after")).order_by(id).limit(_AT_ONCE)
        rows, last, count = self._chosen(free, jobs, queue), 0, 0
        while items := [Item._make(row) for row in connection.execute(rows, {"after": last})]:
            self._end(connection, items, _note(by, reason))
            last, count = items[-1].id, count + len(items)
        return count

    def count(self, connection: Connection, jobs: Sequence[str] | None, queue: str | None) -> int:
        """How many of these wait."""
        free = select(func.count()).where(self._live.c.owner.is_(None))
        return int(connection.execute(self._chosen(free, jobs, queue)).scalar_one())

    def ask(self, connection: Connection, id: UUID, by: str, reason: str) -> None:
        """Whoever runs it reads this within a second; the first to ask is the one who is named."""
        connection.execute(self._ask, {"job_id": id, "author": by, "reason": reason})

    def withdraw(self, connection: Connection, id: UUID) -> None:
        """It was said since that it is to go on."""
        self._endings.withdraw(connection, id)

    def _chosen(
        self, rows: Select[Any], jobs: Sequence[str] | None, queue: str | None
    ) -> Select[Any]:
        if jobs is not None:
            rows = rows.where(self._live.c.handler.in_(jobs))
        return rows if queue is None else rows.where(of_queue(self._live, queue))

    def _end(self, connection: Connection, items: Sequence[Item], note: str) -> None:
        ids = {"ids": [item.id for item in items]}
        connection.execute(self._copy, {**ids, "note": note})
        connection.execute(self._delete, ids)
        tied = [(item, ties_of(item.headers)) for item in items]
        self._history.add(connection, self._runs(connection, tied, note))
        ended = [item.message_id for item in items]
        self._endings.write(connection, tied, succeeded=False, worked=ended)

    def _runs(
        self, connection: Connection, tied: Sequence[tuple[Item, Ties]], note: str
    ) -> list[dict[str, Any]]:
        now = connection.execute(self._now).scalar_one()
        drawn = self._identities.draw_many(len(tied))
        return [
            {
                "id": id,
                "job_id": item.message_id,
                "context": item.context,
                "job": item.handler or item.type,
                "attempt": item.number,
                "status": SKIPPED,
                "note": note,
                "schedule": ties.schedule,
                "tick": ties.tick,
                "finished_at": now,
            }
            for id, (item, ties) in zip(drawn, tied, strict=True)
        ]


def _note(by: str, reason: str) -> str:
    return f"{CANCELLED}: by {by}: {reason}"
