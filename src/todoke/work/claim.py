"""Taking work: up to `limit` rows become this process's, and their attempt is counted.

Rows are found by their state, never by a cursor over ids: ids become visible in the order of
commits, not of their drawing. Only a registered process can claim: one that was declared dead
meanwhile would hold rows that nobody looks for. Ordered rows are taken only from lanes the
process has leased, so nobody else looks at them; the others are shared by skipping locked rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    SmallInteger,
    Table,
    bindparam,
    exists,
    false,
    or_,
    select,
    tuple_,
    update,
)

from todoke import crash
from todoke.database import UNIQUE_ID, Database, reading
from todoke.work.item import READY, SUSPECT, Item
from todoke.work.lease import registration
from todoke.work.mark import BEGINNING, Place
from todoke.work.strand import UNORDERED
from todoke.work.table import WorkTable, in_state

_FIELDS = Item._fields


class Claims:
    """Claims from one work table."""

    def __init__(self, table: WorkTable, workers: Table, database: Database) -> None:
        self._database, live = database, table.live
        self._live = live
        claim = OneStatement if database.returns_updates else TwoStatements
        self._claim = claim(live, workers, database)
        free = _waiting(live, READY, database)
        unordered = free.where(live.c.lane == UNORDERED)
        self._unordered = self._claim.statement(_unlocked(unordered))
        self._behind = self._claim.statement(_unlocked(unordered.where(behind(live, database))))
        self._suspect = self._claim.statement(_unlocked(_waiting(live, SUSPECT, database)))
        self._ordered: dict[int, Any] = {}
        self._some = free.with_only_columns(live.c.id).order_by(None).limit(1)
        self._following = {
            state: select(live.c.stream)
            .where(in_state(live, state), live.c.stream > bindparam("last"))
            .order_by(live.c.stream)
            .limit(1)
            for state in (READY, SUSPECT)
        }
        mine = live.c.owner == bindparam("claimer", type_=UNIQUE_ID)
        self._mine = select(live.c.id, live.c.attempt).where(mine)
        self._free = (
            update(live)
            .where(mine, database.among(live.c.id, "ids"))
            .values(owner=None, alone=false(), spared=live.c.spared + 1, updated_at=database.now)
        )

    def take(
        self,
        connection: Connection,
        owner: UUID,
        stream: str,
        limit: int,
        start: Place = BEGINNING,
    ) -> list[Item]:
        """Rows that keep no order, those behind the start."""
        values: dict[str, Any] = {"of_stream": stream, "at_most": limit}
        if start == BEGINNING and not self._database.begins_anywhere:
            return self._run(connection, self._unordered, owner, values, alone=False)
        values |= bound(start, self._database)
        return self._run(connection, self._behind, owner, values, alone=False)

    def take_ordered(
        self,
        connection: Connection,
        owner: UUID,
        stream: str,
        lanes: Sequence[int],
        each: int,
        limit: int,
    ) -> list[Item]:
        """The first rows of each of these lanes, in the order of their ids."""
        values = {"of_stream": stream, "at_most": limit, "each": each}
        values |= self._database.bound_lanes(lanes)
        statement = self._of_lanes(0 if self._database.lanes_are_one_parameter else len(lanes))
        return self._run(connection, statement, owner, values, alone=False)

    def take_suspect(self, connection: Connection, owner: UUID, stream: str) -> list[Item]:
        """One row that was in a process when it died, to be run with no other beside it."""
        values = {"of_stream": stream, "at_most": 1}
        return self._run(connection, self._suspect, owner, values, alone=True)

    def free_strays(
        self, connection: Connection, owner: UUID, known: Collection[tuple[int, int]]
    ) -> int:
        """Free what this owner holds and does not know of; its attempt does not count."""
        with connection.begin():
            # Looked for without locks: owners have no index, so this passes by all that waits.
            held = connection.execute(self._mine, {"claimer": owner})
            strays = [row.id for row in held if (row.id, row.attempt) not in known]
            if not strays:
                return 0
            return connection.execute(self._free, {"claimer": owner, "ids": strays}).rowcount

    def any_wait(self, connection: Connection, stream: str) -> bool:
        """Something of the stream is to be claimed, by whomever."""
        with reading(connection):
            return connection.execute(self._some, {"of_stream": stream}).first() is not None

    def streams(
        self, connection: Connection, state: str = READY, at_most: float = inf
    ) -> list[str]:
        """The streams that have such rows, each found by one step through the index."""
        found = [""]
        with reading(connection):
            while len(found) <= at_most and (
                following := self.stream_after(connection, state, found[-1])
            ):
                found.append(following)
        return found[1:]

    def stream_after(self, connection: Connection, state: str, last: str) -> str | None:
        """The next stream that has such rows, in the connection's transaction."""
        return connection.execute(self._following[state], {"last": last}).scalar()

    def _of_lanes(self, count: int) -> Any:
        if count not in self._ordered:
            live = self._live
            free = _waiting(live, READY, self._database)
            first = self._database.first_of_each(live.c.lane, free, "each", count)
            self._ordered[count] = self._claim.statement(first.limit(bindparam("at_most")))
        return self._ordered[count]

    def _run(
        self,
        connection: Connection,
        statement: Any,
        owner: UUID,
        values: dict[str, Any],
        *,
        alone: bool,
    ) -> list[Item]:
        values |= {"claimer": owner, "run_alone": alone}
        items = self._claim.run(connection, statement, values)
        crash.point("claim.after_commit")
        return sorted(items, key=lambda item: (item.priority, item.id))


class OneStatement:
    """A claim where UPDATE can answer the rows it changed."""

    def __init__(self, live: Table, workers: Table, database: Database) -> None:
        self._live, self._database = live, database
        self._registered = registration(workers, "claimer")

    def statement(self, wanted: Select[Any]) -> Any:
        live = self._live
        chosen = self._database.chosen(self._database.address(live), wanted)
        return (
            update(live)
            .where(chosen, exists(self._registered))
            .where(live.c.owner.is_(None))
            .values(
                owner=bindparam("claimer"),
                attempt=live.c.attempt + 1,
                claimed_at=self._database.now,
                alone=bindparam("run_alone"),
                started=false(),
            )
            .returning(*(live.c[name] for name in _FIELDS))
        )

    def run(self, connection: Connection, statement: Any, values: dict[str, Any]) -> list[Item]:
        crash.point("claim.before_commit")
        return list(map(Item._make, self._database.fetch(connection, statement, values)))


class TwoStatements:
    """A claim where it cannot: look, with locks, then mark."""

    def __init__(self, live: Table, workers: Table, database: Database) -> None:
        self._live = live
        self._now = select(database.now)
        self._registered = registration(workers, "claimer")
        self._mark = (
            update(live)
            .where(live.c.id.in_(bindparam("ids", expanding=True)), live.c.owner.is_(None))
            .values(
                owner=bindparam("claimer"),
                attempt=live.c.attempt + 1,
                claimed_at=bindparam("at"),
                alone=bindparam("run_alone"),
                started=false(),
            )
        )
        self._read = select(*(live.c[name] for name in _FIELDS)).where(
            live.c.id.in_(bindparam("ids", expanding=True)),
            live.c.owner == bindparam("claimer"),
        )

    def statement(self, wanted: Select[Any]) -> Any:
        return wanted

    def run(self, connection: Connection, statement: Any, values: dict[str, Any]) -> list[Item]:
        with connection.begin():
            items = self._look_and_mark(connection, statement, values)
            crash.point("claim.before_commit")
        return items

    def _look_and_mark(
        self, connection: Connection, statement: Any, values: dict[str, Any]
    ) -> list[Item]:
        me = {"claimer": values["claimer"]}
        if connection.execute(self._registered, me).first() is None:
            return []
        looked_at = {k: v for k, v in values.items() if k not in ("claimer", "run_alone")}
        ids = list(connection.execute(statement, looked_at).scalars())
        if not ids:
            return []
        at = connection.execute(self._now).scalar_one()
        mark = {**me, "ids": ids, "at": at, "run_alone": values["run_alone"]}
        connection.execute(self._mark, mark)
        rows = connection.execute(self._read, {**me, "ids": ids})
        return list(map(Item._make, rows))


class Suspects:
    """Tells whether some row, of any of the tables, waits to be run alone."""

    def __init__(self, tables: Sequence[WorkTable]) -> None:
        waiting = [
            exists().where(in_state(live, SUSPECT), live.c.owner.is_(None))
            for live in (table.live for table in tables)
        ]
        self._any = select(or_(*waiting))

    def wait(self, connection: Connection) -> bool:
        with connection.begin():
            return bool(connection.execute(self._any).scalar_one())


def behind(live: Table, database: Database) -> ColumnElement[bool]:
    """Rows behind a place; of less urgent ones only, where a claim cannot begin anywhere."""
    priority: BindParameter[int] = bindparam("of_priority", type_=SmallInteger)
    if not database.begins_anywhere:
        return live.c.priority > priority
    id: BindParameter[int] = bindparam("of_id", type_=BigInteger)
    return tuple_(live.c.priority, live.c.id) > tuple_(priority, id)


def bound(start: Place, database: Database) -> dict[str, int]:
    """The parameters that `behind` reads the place from."""
    place = {"of_priority": start[0], "of_id": start[1]}
    return place if database.begins_anywhere else {"of_priority": start[0]}


def _waiting(live: Table, state: str, database: Database) -> Select[Any]:
    """Free rows of a stream, first things first."""
    return (
        select(database.address(live).label("address"))
        .where(in_state(live, state), live.c.stream == bindparam("of_stream"))
        .where(live.c.owner.is_(None))
        .order_by(live.c.priority, live.c.id)
    )


def _unlocked(rows: Select[Any]) -> Select[Any]:
    return rows.limit(bindparam("at_most")).with_for_update(skip_locked=True)
