"""Leasing lanes: a worker keeps its share of each stream's lanes and takes order from them.

A lane belongs to a registered process until it gives the lane back, with nothing of it in hand,
or until the rescuer declares the process dead and frees its lanes along with its rows. So a lane
never has two owners, and a new owner never meets rows of the old one in flight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection, Table, bindparam, func, select, update

from todoke import crash
from todoke.database import UNIQUE_ID, Database
from todoke.work.hold import Barriers, Holds
from todoke.work.lease import Service, registration
from todoke.work.strand import LANES

Busy = Callable[[str, int], bool]


class LaneLeases:
    """The table of who has which lane."""

    def __init__(self, lanes: Table, workers: Table, database: Database) -> None:
        self._lanes, self._missing = lanes, database.add_missing(lanes)
        mine = lanes.c.owner == bindparam("me", type_=UNIQUE_ID)
        of_stream = lanes.c.stream == bindparam("of_stream")
        chosen = database.among(lanes.c.lane, "chosen")
        self._registered = registration(workers)
        self._count = select(func.count()).select_from(lanes).where(of_stream)
        self._free = (
            select(lanes.c.lane)
            .where(of_stream, lanes.c.owner.is_(None))
            .order_by(lanes.c.lane)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )
        self._take = (
            update(lanes)
            .where(of_stream, chosen, lanes.c.owner.is_(None))
            .values(owner=bindparam("me", type_=UNIQUE_ID))
        )
        self._give = update(lanes).where(of_stream, chosen, mine).values(owner=None)
        self._leave = update(lanes).where(mine).values(owner=None)
        self._mine = select(lanes.c.lane).where(of_stream, mine)
        known = select(workers.c.id)
        self._strangers = (
            select(lanes.c.owner)
            .distinct()
            .where(lanes.c.owner.is_not(None), lanes.c.owner.not_in(known))
        )

    def prepare(self, connection: Connection, stream: str) -> None:
        """See that the stream has its lanes."""
        if connection.execute(self._count, {"of_stream": stream}).scalar_one() < LANES:
            rows = [{"stream": stream, "lane": lane} for lane in range(LANES)]
            connection.execute(self._missing, rows)

    def take(self, connection: Connection, me: UUID, stream: str, count: int) -> list[int]:
        """Lease up to so many free lanes; none for a process that was declared dead."""
        if connection.execute(self._registered, {"me": me}).first() is None:
            return []
        free = {"of_stream": stream, "at_most": count}
        found = list(connection.execute(self._free, free).scalars())
        if found:
            connection.execute(self._take, {"me": me, "of_stream": stream, "chosen": found})
        # Read again, not believed: a lane with two owners would break the order of its keys.
        ours = set(self.taken(connection, me, stream)) if found else set()
        return [lane for lane in found if lane in ours]

    def taken(self, connection: Connection, me: UUID, stream: str) -> list[int]:
        """What it has leased."""
        return list(connection.execute(self._mine, {"me": me, "of_stream": stream}).scalars())

    def give_back(
        self, connection: Connection, me: UUID, stream: str, lanes: Sequence[int]
    ) -> None:
        values = {"me": me, "of_stream": stream, "chosen": list(lanes)}
        connection.execute(self._give, values)

    def leave(self, connection: Connection, owner: UUID) -> None:
        """Free all lanes of a process that ends or was declared dead."""
        connection.execute(self._leave, {"me": owner})

    def strangers(self, connection: Connection) -> list[UUID]:
        """Owners that are not even registered."""
        return list(connection.execute(self._strangers).scalars())


@dataclass(slots=True)
class Share:
    """The lanes of one stream that this process has, with what is known of their strands."""

    lanes: dict[int, dict[str, Barriers]] = field(default_factory=dict)
    closing: set[int] = field(default_factory=set)
    prepared: bool = False
    unsure: bool = False
    """A lease got no answer: which lanes are ours is known only by looking."""

    def open(self) -> list[int]:
        return [lane for lane in self.lanes if lane not in self.closing]


class Lanes:
    """This process's lanes; ticked by its worker, in the worker's thread."""

    def __init__(
        self,
        leases: LaneLeases,
        holds: Mapping[str, Holds],
        look_around: Callable[[Connection], Mapping[UUID, Service]],
    ) -> None:
        self._leases, self._holds, self._look_around = leases, holds, look_around
        self._shares: dict[str, Share] = {}
        self.owner: UUID | None = None

    def of(self, stream: str) -> Share:
        return self._shares.setdefault(stream, Share())

    def barriers(self, stream: str, lane: int, source: str) -> Barriers:
        """Known barriers of a lane; of a lane that is not ours, nothing is known or kept."""
        known = self.of(stream).lanes.get(lane)
        return {} if known is None else known[source]

    def tick(
        self, connection: Connection, owner: UUID, streams: Sequence[str], busy: Busy
    ) -> Iterator[str]:
        """Give back what is too much, take what is free; tells of each stream that got lanes."""
        if owner != self.owner:
            # Under a new name nothing is ours: the rescuer has freed what the old one had.
            self.owner, self._shares = owner, {}
        rivals = self._look_around(connection)
        for stream in streams:
            fair = fair_share(owner, (one for one, rival in rivals.items() if rival.serves(stream)))
            share = self.of(stream)
            if share.unsure and self._look_again(connection, owner, stream, share):
                yield stream
            if self._balance(connection, owner, stream, fair, busy):
                yield stream

    def _balance(
        self, connection: Connection, owner: UUID, stream: str, fair: int, busy: Busy
    ) -> bool:
        share = self.of(stream)
        surplus = len(share.lanes) - fair
        if surplus > 0:
            share.closing = set(sorted(share.lanes)[-surplus:])
            self._give_back(connection, owner, stream, share, busy)
            return False
        share.closing = set()
        return surplus < 0 and self._take(connection, owner, stream, share, -surplus)

    def _look_again(self, connection: Connection, owner: UUID, stream: str, share: Share) -> bool:
        """Know again which lanes are ours; True when there are some that we did not know of."""
        with connection.begin():
            ours = self._leases.taken(connection, owner, stream)
            unknown = [lane for lane in ours if lane not in share.lanes]
            found = self._load(connection, stream, unknown)
        kept = {lane: known for lane, known in share.lanes.items() if lane in ours}
        share.lanes, share.unsure = kept | found, False
        return bool(found)

    def _give_back(
        self, connection: Connection, owner: UUID, stream: str, share: Share, busy: Busy
    ) -> None:
        idle = [lane for lane in share.closing if not busy(stream, lane)]
        if not idle:
            return
        share.unsure = True
        with connection.begin():
            self._leases.give_back(connection, owner, stream, idle)
            crash.point("lanes.before_give_back")
        share.unsure = False
        for lane in idle:
            del share.lanes[lane]
        share.closing -= set(idle)

    def _take(
        self, connection: Connection, owner: UUID, stream: str, share: Share, count: int
    ) -> bool:
        share.unsure = True
        with connection.begin():
            if not share.prepared:
                self._leases.prepare(connection, stream)
            taken = self._leases.take(connection, owner, stream, count)
            loaded = self._load(connection, stream, taken)
            crash.point("lanes.before_take")
        share.prepared, share.unsure = True, False
        share.lanes |= loaded
        return bool(taken)

    def _load(
        self, connection: Connection, stream: str, lanes: Sequence[int]
    ) -> dict[int, dict[str, Barriers]]:
        """The barriers of lanes that were not ours until now."""
        if not lanes:
            return {}
        loaded = {
            source: holds.load(connection, stream, lanes) for source, holds in self._holds.items()
        }
        return {lane: {source: of[lane] for source, of in loaded.items()} for lane in lanes}


def fair_share(owner: UUID, sharing: Iterable[UUID]) -> int:
    """This one's part of the lanes; what does not divide goes to the first of them, one each."""
    everyone = sorted({owner, *sharing})
    each, rest = divmod(LANES, len(everyone))
    return each + (everyone.index(owner) < rest)
