"""Holding a strand: nothing beyond its barrier is taken until the row at the barrier is settled.

    head fails, or dies and parks ─▶ barrier at the head; followers that a claim meets are `held`
    head settled, or its dead letter resolved ─▶ the next run of followers is readied, and the
        barrier moves to its last row; with none left the hold is gone

Whoever holds a row back, or lets a strand go on, has the hold's row locked; so neither can a row
be held by a hold that is just being lifted, nor a barrier be lifted twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import (
    Connection,
    Table,
    and_,
    bindparam,
    delete,
    exists,
    false,
    select,
    update,
)

from todoke.database import Database
from todoke.work.item import HELD, READY, Item
from todoke.work.table import WorkTable, in_state

RUN = 100
"""How many followers are readied at once."""
_SWEEP = 5000

Barriers = dict[int, int]
"""strand -> id of the last row that may be taken."""


@dataclass(frozen=True, slots=True)
class Place:
    """A row's place in the order."""

    id: int
    strand: int
    stream: str
    lane: int

    @classmethod
    def of(cls, item: Item) -> Place:
        return cls(item.id, item.strand, item.stream, item.lane)


class Holds:
    """The holds of one work table's strands."""

    def __init__(self, table: WorkTable, holds: Table, letters: Table, database: Database) -> None:
        self._source, live = table.source, table.live
        self._holds = holds
        self._block = database.upsert(
            holds,
            "strand",
            {
                **{name: bindparam(f"new_{name}") for name in ("strand", "stream", "lane")},
                "source": table.source,
                "barrier": bindparam("new_barrier"),
                "since": database.now,
            },
        )
        among = database.among(holds.c.strand, "strands")
        self._lock = (
            select(holds.c.strand, holds.c.barrier)
            .where(among)
            .order_by(holds.c.strand)
            .with_for_update()
        )
        self._lift = delete(holds).where(among)
        self._move = (
            update(holds)
            .where(holds.c.strand == bindparam("of_strand"))
            .values(barrier=bindparam("new_barrier"))
        )
        held = (in_state(live, HELD), database.among(live.c.strand, "strands"))
        self._crowded = select(live.c.strand).where(*held).distinct()
        self._next_run = (
            select(live.c.id)
            .where(in_state(live, HELD), live.c.strand == bindparam("of_strand"))
            .order_by(live.c.id)
            .limit(RUN)
        )
        chosen = database.among(live.c.id, "ids")
        self._ready = update(live).where(chosen).values(state=READY)
        back = {"state": HELD, "owner": None, "alone": false(), "started": false()}
        self._back = (
            update(live)
            .where(chosen, live.c.owner == bindparam("claimer"))
            .values(**back, spared=live.c.spared + 1, updated_at=database.now)
        )
        self._free = (
            update(live)
            .where(chosen, live.c.owner == bindparam("claimer"))
            .values(owner=None, spared=live.c.spared + 1, updated_at=database.now)
        )
        self._unmet = (
            select(live.c.id)
            .where(
                in_state(live, READY),
                live.c.stream == bindparam("of_stream"),
                live.c.lane == bindparam("of_lane"),
                live.c.strand == bindparam("of_strand"),
                live.c.id > bindparam("beyond"),
                live.c.owner.is_(None),
            )
            .order_by(live.c.priority, live.c.id)
            .limit(_SWEEP)
        )
        # Looked at again: they were found without locks, and may be claimed by now.
        still = (in_state(live, READY), live.c.owner.is_(None))
        self._hold = update(live).where(chosen, *still).values(state=HELD, updated_at=database.now)
        mine = (holds.c.source == table.source, holds.c.stream == bindparam("of_stream"))
        of_lanes = database.among(holds.c.lane, "of_lanes")
        headless = and_(
            ~exists().where(live.c.id == holds.c.barrier),
            ~exists().where(
                letters.c.item_id == holds.c.barrier,
                letters.c.source == table.source,
                letters.c.closed_at.is_(None),
            ),
        )
        where = holds.c.strand, holds.c.lane, holds.c.barrier
        self._load = select(*where, headless.label("is_headless")).where(*mine, of_lanes)

    def load(
        self, connection: Connection, stream: str, lanes: Sequence[int]
    ) -> dict[int, Barriers]:
        """The barriers of lanes just taken over, by lane.

        A head that was settled by a process which died before it could let the strand go on is
        found here.
        """
        where = {"of_stream": stream, "of_lanes": list(lanes)}
        rows = connection.execute(self._load, where).all()
        if headless := [row for row in rows if row.is_headless]:
            for row in headless:
                self.pass_on(connection, [Place(row.barrier, row.strand, stream, row.lane)])
            rows = connection.execute(self._load, where).all()
        found: dict[int, Barriers] = {lane: {} for lane in lanes}
        for row in rows:
            found[row.lane][row.strand] = row.barrier
        return found

    def block(self, connection: Connection, place: Place) -> None:
        """Let nothing of the strand be taken beyond this row."""
        values = {"strand": place.strand, "stream": place.stream, "lane": place.lane}
        new = {f"new_{name}": value for name, value in values.items()}
        connection.execute(self._block, {**new, "new_barrier": place.id})

    def barriers(self, connection: Connection, strands: Iterable[int]) -> Barriers:
        """What holds there are, locked until the transaction ends."""
        wanted = sorted(set(strands))
        rows = connection.execute(self._lock, {"strands": wanted}) if wanted else ()
        return {row.strand: row.barrier for row in rows}

    def pass_on(self, connection: Connection, settled: Sequence[Place]) -> dict[int, int | None]:
        """Let strands go on whose barrier was just settled; answers where each stands now."""
        barriers = self.barriers(connection, (place.strand for place in settled))
        due = [place.strand for place in settled if barriers.get(place.strand) == place.id]
        now: dict[int, int | None] = {place.strand: barriers.get(place.strand) for place in settled}
        if due:
            now |= dict.fromkeys(due)
            crowded = set(connection.execute(self._crowded, {"strands": due}).scalars())
            now |= {strand: self._next(connection, strand) for strand in crowded}
            done = [strand for strand in due if now[strand] is None]
            if done:
                connection.execute(self._lift, {"strands": done})
        return now

    def hold_back(
        self, connection: Connection, owner: UUID, items: Sequence[Item]
    ) -> tuple[set[int], Barriers]:
        """Take claimed rows out of the claim, as far as they really are beyond a barrier.

        Where it was lifted meanwhile they go back too: those before them are to be claimed first.
        """
        barriers = self.barriers(connection, (item.strand for item in items))
        beyond = [item.id for item in items if item.id > barriers.get(item.strand, item.id)]
        self.set_back(connection, owner, beyond)
        free = [item.id for item in items if item.id not in set(beyond)]
        if free:
            connection.execute(self._free, {"ids": free, "claimer": owner})
        return set(beyond), barriers

    def set_back(self, connection: Connection, owner: UUID, ids: Sequence[int]) -> int:
        """Hold rows that this owner has claimed; the attempt does not count."""
        if not ids:
            return 0
        values = {"ids": list(ids), "claimer": owner}
        return connection.execute(self._back, values).rowcount

    def sweep(self, connection: Connection, place: Place) -> int:
        """Hold followers that no claim has met yet: a claim would meet them batch by batch."""
        barrier = self.barriers(connection, [place.strand]).get(place.strand)
        if barrier is None:
            return 0
        where = {"of_stream": place.stream, "of_lane": place.lane, "of_strand": place.strand}
        ids = list(connection.execute(self._unmet, {**where, "beyond": barrier}).scalars())
        if ids:
            connection.execute(self._hold, {"ids": ids})
        return len(ids)

    def _next(self, connection: Connection, strand: int) -> int | None:
        ids: list[int] = list(connection.execute(self._next_run, {"of_strand": strand}).scalars())
        connection.execute(self._ready, {"ids": ids})
        if len(ids) < RUN:
            return None
        connection.execute(self._move, {"of_strand": strand, "new_barrier": ids[-1]})
        return ids[-1]
