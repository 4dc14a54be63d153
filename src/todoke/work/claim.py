"""Taking work: one statement marks up to `limit` rows as this process's and counts the attempt.

Rows are found by their state, never by a cursor over ids: ids become visible in the order of
commits, not of their drawing.
"""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, bindparam, false, select, true, update

from todoke import crash
from todoke.database import Database
from todoke.work.item import READY, SUSPECT, Item
from todoke.work.table import WorkTable


class Claims:
    """Claims from one work table."""

    def __init__(self, table: WorkTable, database: Database) -> None:
        self._ready = _statement(table, database, READY, alone=False)
        self._suspect = _statement(table, database, SUSPECT, alone=True)
        live = table.live
        self._any_suspect = (
            select(live.c.id)
            .where(live.c.state == SUSPECT, live.c.queue == bindparam("of_queue"))
            .where(live.c.owner.is_(None))
            .limit(1)
        )

    def take(self, connection: Connection, owner: UUID, queue: str, limit: int) -> list[Item]:
        return self._run(connection, self._ready, owner, queue, limit)

    def take_suspect(self, connection: Connection, owner: UUID, queue: str) -> list[Item]:
        """One row that was in a process when it died, to be run with no other beside it."""
        return self._run(connection, self._suspect, owner, queue, 1)

    def suspect_waits(self, connection: Connection, queue: str) -> bool:
        with connection.begin():
            row = connection.execute(self._any_suspect, {"of_queue": queue}).first()
        return row is not None

    def _run(
        self, connection: Connection, statement: object, owner: UUID, queue: str, limit: int
    ) -> list[Item]:
        values = {"claimer": owner, "of_queue": queue, "at_most": limit}
        with connection.begin():
            rows = connection.execute(statement, values).all()  # type: ignore[call-overload]
            crash.point("claim.before_commit")
        crash.point("claim.after_commit")
        return sorted((Item(*row) for row in rows), key=lambda item: item.id)


def _statement(table: WorkTable, database: Database, state: str, *, alone: bool) -> object:
    live = table.live
    wanted = (
        select(live.c.id)
        .where(live.c.state == state, live.c.queue == bindparam("of_queue"))
        .where(live.c.owner.is_(None))
        .order_by(live.c.priority, live.c.id)
        .limit(bindparam("at_most"))
        .with_for_update(skip_locked=True)
    )
    return (
        update(live)
        .where(database.chosen(live.c.id, wanted))
        .values(
            owner=bindparam("claimer"),
            attempt=live.c.attempt + 1,
            claimed_at=database.now,
            alone=true() if alone else false(),
            started=false(),
        )
        .returning(*(live.c[name] for name in Item.__dataclass_fields__))
    )
