"""Taking work: one statement marks up to `limit` rows as this process's and counts the attempt.

Rows are found by their state, never by a cursor over ids: ids become visible in the order of
commits, not of their drawing. Only a registered process can claim: one that was declared dead
meanwhile would hold rows that nobody looks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import (
    Connection,
    Table,
    bindparam,
    exists,
    false,
    not_,
    or_,
    select,
    true,
    update,
)

from todoke import crash
from todoke.database import Database
from todoke.work.item import READY, SUSPECT, Item
from todoke.work.table import WorkTable


class Claims:
    """Claims from one work table."""

    def __init__(self, table: WorkTable, workers: Table, database: Database) -> None:
        self._ready = _statement(table, workers, database, READY, alone=False)
        self._suspect = _statement(table, workers, database, SUSPECT, alone=True)
        live = table.live
        self._strays = (
            update(live)
            .where(live.c.owner == bindparam("claimer"), not_(database.among(live.c.id, "known")))
            .values(owner=None, alone=false(), spared=live.c.spared + 1, updated_at=database.now)
        )

    def take(self, connection: Connection, owner: UUID, queue: str, limit: int) -> list[Item]:
        return self._run(connection, self._ready, owner, queue, limit)

    def take_suspect(self, connection: Connection, owner: UUID, queue: str) -> list[Item]:
        """One row that was in a process when it died, to be run with no other beside it."""
        return self._run(connection, self._suspect, owner, queue, 1)

    def free_strays(self, connection: Connection, owner: UUID, known: Sequence[int]) -> int:
        """Free what this owner holds and does not know of; its attempt does not count."""
        with connection.begin():
            values = {"claimer": owner, "known": list(known)}
            return connection.execute(self._strays, values).rowcount

    def _run(
        self, connection: Connection, statement: object, owner: UUID, queue: str, limit: int
    ) -> list[Item]:
        values = {"claimer": owner, "of_queue": queue, "at_most": limit}
        with connection.begin():
            rows = connection.execute(statement, values).all()  # type: ignore[call-overload]
            crash.point("claim.before_commit")
        crash.point("claim.after_commit")
        return sorted((Item(*row) for row in rows), key=lambda item: (item.priority, item.id))


class Suspects:
    """Tells whether some row, of any of the tables, waits to be run alone."""

    def __init__(self, tables: Sequence[WorkTable]) -> None:
        waiting = [
            exists().where(live.c.state == SUSPECT, live.c.owner.is_(None))
            for live in (table.live for table in tables)
        ]
        self._any = select(or_(*waiting))

    def wait(self, connection: Connection) -> bool:
        with connection.begin():
            return bool(connection.execute(self._any).scalar_one())


def _statement(
    table: WorkTable, workers: Table, database: Database, state: str, *, alone: bool
) -> object:
    live = table.live
    # Locked against the rescuer's DELETE, and not against the lease's renewal.
    registered = (
        select(workers.c.id)
        .where(workers.c.id == bindparam("claimer"))
        .with_for_update(read=True, key_share=True)
    )
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
        .where(database.chosen(live.c.id, wanted), exists(registered))
        .values(
            owner=bindparam("claimer"),
            attempt=live.c.attempt + 1,
            claimed_at=database.now,
            alone=true() if alone else false(),
            started=false(),
        )
        .returning(*(live.c[name] for name in Item.__dataclass_fields__))
    )
