"""Taking work whose keys are counted: a row is taken along with a slot of its key, or not at all.

What a claim meets of a key that is full becomes `held`: out of the claim index, so that a key with
very many rows hides no other. Each row is held at most once for each time it is readied.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    Connection,
    Table,
    bindparam,
    false,
    func,
    select,
    update,
)
from sqlalchemy.sql import ColumnElement

from todoke import crash
from todoke.database import UNIQUE_ID, Database, reading
from todoke.work.claim import behind, bound
from todoke.work.item import HELD, READY, SUSPECT, Item
from todoke.work.key_slots import NO_KEY, KeySlots
from todoke.work.lease import registration
from todoke.work.mark import BEGINNING, Place
from todoke.work.strand import UNORDERED
from todoke.work.table import WorkTable, in_state

_SUSPECTS = 100
"""How many suspects are looked at for one whose key has a slot left."""


@dataclass(slots=True)
class Catch:
    """What a claim took, and what became of the other rows that it met."""

    items: list[Item] = field(default_factory=list)
    met: int = 0
    look: int = 0
    """How many it would have met."""
    held: int = 0
    """Taken out of the way: their keys were full."""

    @property
    def left(self) -> int:
        """Rows that stay as they are: others were taken instead, or their key is in motion."""
        return self.met - len(self.items) - self.held

    @property
    def has_more(self) -> bool:
        return self.met >= self.look or self.left > 0

    @property
    def is_stuck(self) -> bool:
        """It met rows, and could neither take nor hold any: somebody else is at their keys."""
        return self.left == self.met > 0


class _Row(NamedTuple):
    id: int
    strand: int


class KeyClaims:
    """Claims from streams whose keys are counted, of one work table."""

    def __init__(
        self, table: WorkTable, workers: Table, database: Database, keys: KeySlots
    ) -> None:
        self._database, live = database, table.live
        self.keys: KeySlots = keys
        me: Any = bindparam("claimer", type_=UNIQUE_ID)
        self._registered = registration(workers, "claimer")
        self._ready = self._first(live, READY)
        self._behind = self._first(live, READY, behind(live, database))
        self._suspect = self._first(live, SUSPECT)
        chosen = database.among(live.c.id, "ids")
        fields = [live.c[name] for name in Item._fields]
        self._mark: Any = (
            update(live)
            .where(chosen)
            .values(
                owner=me,
                attempt=live.c.attempt + 1,
                claimed_at=database.now,
                alone=bindparam("run_alone"),
                started=false(),
            )
        )
        if database.returns_updates:
            self._mark = self._mark.returning(*fields)
        self._read = select(*fields).where(chosen)
        self._hold = update(live).where(chosen).values(state=HELD, updated_at=database.now)
        taken = select(func.count()).where(keys.slots.c.strand == live.c.strand)
        room = taken.correlate(live).scalar_subquery() < bindparam("at_once")
        self._can_run = (
            select(live.c.id)
            .where(in_state(live, SUSPECT), live.c.stream == bindparam("of_stream"))
            .where(live.c.owner.is_(None), room)
            .limit(1)
        )

    def limit_of(self, stream: str) -> int | None:
        return self.keys.limit_of(stream)

    def take(
        self,
        connection: Connection,
        owner: UUID,
        stream: str,
        limit: int,
        look: int,
        start: Place = BEGINNING,
    ) -> Catch:
        """Up to `limit` of the first `look` rows behind the start, the most urgent first."""
        values: dict[str, Any] = {"of_stream": stream, "at_most": look}
        if start == BEGINNING:
            return self._run(connection, owner, self._ready, values, limit)
        values |= bound(start, self._database)
        return self._run(connection, owner, self._behind, values, limit)

    def take_suspect(self, connection: Connection, owner: UUID, stream: str) -> list[Item]:
        """One whose key has a slot left, to be run with no other beside it."""
        values = {"of_stream": stream, "at_most": _SUSPECTS}
        return self._run(connection, owner, self._suspect, values, 1, alone=True).items

    def has_room_for_suspect(self, connection: Connection, stream: str) -> bool:
        """The key of some suspect there has a slot left."""
        wanted = {"of_stream": stream, "at_once": self.limit_of(stream)}
        with reading(connection):
            return connection.execute(self._can_run, wanted).first() is not None

    @staticmethod
    def _first(live: Table, state: str, *conditions: ColumnElement[bool]) -> Any:
        return (
            select(live.c.id, live.c.strand)
            .where(in_state(live, state), live.c.stream == bindparam("of_stream"))
            .where(live.c.lane == UNORDERED, live.c.owner.is_(None), *conditions)
            .order_by(live.c.priority, live.c.id)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )

    def _run(
        self,
        connection: Connection,
        owner: UUID,
        statement: Any,
        values: dict[str, Any],
        limit: int,
        *,
        alone: bool = False,
    ) -> Catch:
        with connection.begin():
            catch = Catch(look=values["at_most"])
            if connection.execute(self._registered, {"claimer": owner}).first() is not None:
                rows = [_Row(*row) for row in connection.execute(statement, values)]
                at_once = self.limit_of(values["of_stream"]) or 1
                self._take(connection, owner, rows, limit, at_once, catch, alone=alone)
            crash.point("claim.before_commit")
        crash.point("claim.after_commit")
        return catch

    def _take(
        self,
        connection: Connection,
        owner: UUID,
        rows: Sequence[_Row],
        limit: int,
        at_once: int,
        catch: Catch,
        *,
        alone: bool,
    ) -> None:
        if not rows:
            return
        taken = self.keys.taken(connection, (row.strand for row in rows))
        room = {row.strand: at_once - len(taken.get(row.strand, ())) for row in rows}
        room[NO_KEY] = len(rows)
        wished = _in_turn(rows, room)[:limit]
        wanted = Counter(row.strand for row in wished)
        granted = self.keys.take(connection, owner, taken, wanted, at_once)
        mine = _in_turn(wished, granted)
        catch.met = len(rows)
        catch.items = self._mark_rows(connection, owner, [row.id for row in mine], alone=alone)
        if not alone:
            rest = set(rows).difference(mine)
            crowded = {row.strand for row in rest if wanted[row.strand] >= room[row.strand]}
            full = self.keys.full(connection, crowded, at_once)
            held = [row.id for row in rest if row.strand in full]
            catch.held = self._hold_back(connection, held)

    def _mark_rows(
        self, connection: Connection, owner: UUID, ids: Sequence[int], *, alone: bool
    ) -> list[Item]:
        if not ids:
            return []
        values = {"ids": sorted(ids), "claimer": owner, "run_alone": alone}
        if self._database.returns_updates:
            rows = self._database.fetch_within(connection, self._mark, values)
        else:
            connection.execute(self._mark, values)
            rows = connection.execute(self._read, {"ids": values["ids"]}).all()
        return sorted(map(Item._make, rows), key=lambda item: (item.priority, item.id))

    def _hold_back(self, connection: Connection, ids: Sequence[int]) -> int:
        if ids:
            connection.execute(self._hold, {"ids": sorted(ids)})
        return len(ids)


def _in_turn(rows: Sequence[_Row], room: Mapping[int, int]) -> list[_Row]:
    """The first of each strand, as many as it has room for."""
    left = Counter(room)
    chosen = []
    for row in rows:
        left[row.strand] -= 1
        if left[row.strand] >= 0:
            chosen.append(row)
    return chosen
