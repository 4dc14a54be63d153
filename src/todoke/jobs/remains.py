"""What jobs that live no more have left: cancellations that came too late, cursors.

A dead job lives no more, but its cursors stay while it may be redriven: it goes on behind them.

Who ends a job looks for these only where there is reason to, since every plain success would pay
for it. They are found here later, some keys at a time and beside the living jobs alone, so that a
look costs the same whatever lies in the history.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import Connection, Executable, Table, bindparam, delete, select

from todoke import crash
from todoke.database import UNIQUE_ID, reading
from todoke.jobs.table import JobTables

_AT_ONCE = 500
_FIRST = UUID(int=0)


class Remains:
    """Walks over both tables, each look a little further."""

    def __init__(self, tables: JobTables, letters: Table) -> None:
        live = tables.work.live
        ids = bindparam("ids", type_=UNIQUE_ID, expanding=True)
        living = select(live.c.message_id).where(live.c.message_id.in_(ids))
        # In one statement: whoever is buried or redriven meanwhile is seen here or there.
        may_come_back = living.union_all(
            select(letters.c.message_id).where(
                letters.c.message_id.in_(ids), letters.c.closed_at.is_(None)
            )
        )
        self._walks = [
            _Walk(tables.cancellations, living),
            _Walk(tables.cursors, may_come_back),
        ]

    def forget(self, connection: Connection) -> None:
        for walk in self._walks:
            walk.go_on(connection)


class _Walk:
    """Goes on behind where the last look ended, and from the end back to the beginning."""

    def __init__(self, table: Table, living: Executable) -> None:
        """`living` finds, of some `ids`, those whose rows are to stay."""
        self._living, self._behind, job = living, _FIRST, table.c.job_id
        behind = bindparam("behind", type_=UNIQUE_ID)
        self._next = select(job).where(job > behind).order_by(job).limit(bindparam("at_most"))
        ids = bindparam("ids", type_=UNIQUE_ID, expanding=True)
        self._lock = select(job).where(job.in_(ids)).with_for_update(skip_locked=True)
        # One by one: by a long list a database may read, and wait for, rows of others.
        self._delete = delete(table).where(job == bindparam("of_job", type_=UNIQUE_ID))

    def go_on(self, connection: Connection) -> None:
        gone = self._look(connection)
        if not gone:
            return
        with connection.begin():
            # Looked at again once they are locked: one of them may have been redriven since, and
            # cancelled in its new life.
            locked = set(connection.execute(self._lock, {"ids": list(gone)}).scalars())
            left = locked - self._alive(connection, locked)
            if left:
                connection.execute(self._delete, [{"of_job": id} for id in sorted(left)])
            crash.point("forget.before_commit")

    def _look(self, connection: Connection) -> Collection[UUID]:
        """Those of the next few whose job lives no more."""
        with reading(connection):
            few = {"behind": self._behind, "at_most": _AT_ONCE}
            found: Sequence[UUID] = connection.execute(self._next, few).scalars().all()
            self._behind = found[-1] if len(found) == _AT_ONCE else _FIRST
            return set(found) - self._alive(connection, found)

    def _alive(self, connection: Connection, ids: Collection[UUID]) -> set[UUID]:
        if not ids:
            return set()
        return set(connection.execute(self._living, {"ids": list(ids)}).scalars())
