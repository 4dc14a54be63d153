"""From the live table into history: guarded by (owner, attempt), many rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Integer, Text, and_, bindparam, cast, delete, insert, select
from sqlalchemy.sql import ColumnElement

from todoke.database import UNIQUE_ID, Database
from todoke.work.table import CARRIED, ERROR, TOLD, WorkTable


def fence(
    table: WorkTable, owner: UUID | None = None, attempt: int | None = None
) -> ColumnElement[bool]:
    """The guard of every final write: still this owner's, still this attempt."""
    live = table.live
    return and_(
        live.c.owner == bindparam("fence_owner", owner, type_=UNIQUE_ID),
        live.c.attempt == bindparam("fence_attempt", attempt, type_=Integer()),
    )


class Alike(NamedTuple):
    """What one statement says of all the rows that it moves."""

    attempt: int
    note: str | None = None
    stamped: bool = False


class Move:
    """From the live table into history."""

    def __init__(self, table: WorkTable, database: Database, stamp: Mapping[str, str]) -> None:
        live, history = table.live, table.history
        names = ["id", *CARRIED, *TOLD, *ERROR]
        if table.is_stamped:
            names.append("claimed_at")
        mine = and_(database.among(live.c.id, "ids"), fence(table))
        told = ["note", *stamp]
        values = [cast(bindparam(name, type_=Text()), Text) for name in told]
        self._delete = delete(live).where(mine)
        if database.moves_at_once:
            source = self._delete.returning(*(live.c[name] for name in names)).cte("gone")
            rows = select(*(source.c[name] for name in names), *values, database.now)
        else:
            # Locked while read, or a rescue between reading and deleting would double it.
            rows = select(*(live.c[name] for name in names), *values, database.now).where(mine)
            rows = rows.with_for_update()
        self._database, self._stamp = database, stamp
        self._unstamped = dict.fromkeys(stamp)
        self._insert = (
            insert(history)
            .from_select([*names, *told, "settled_at"], rows, include_defaults=False)
            .returning(history.c.id)
        )

    def run(self, connection: Connection, owner: UUID, wish: Alike, ids: list[int]) -> set[int]:
        guard = {"ids": ids, "fence_owner": owner, "fence_attempt": wish.attempt}
        rows = self._database.fetch_within(connection, self._insert, guard | self._told(wish))
        moved = {row[0] for row in rows}
        if not self._database.moves_at_once and moved:
            connection.execute(self._delete, guard)
        return moved

    def at_once(self, connection: Connection, owner: UUID, wish: Alike, ids: list[int]) -> set[int]:
        """The same as a transaction of its own, where it is one statement."""
        guard = {"ids": ids, "fence_owner": owner, "fence_attempt": wish.attempt}
        told = guard | self._told(wish)
        return {row[0] for row in self._database.fetch(connection, self._insert, told)}

    def _told(self, wish: Alike) -> dict[str, Any]:
        return {"note": wish.note, **(self._stamp if wish.stamped else self._unstamped)}
