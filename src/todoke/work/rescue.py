"""Returning what a dead process held.

Who is to blame for the crash? Rows that were merely claimed along with the culprit are not, so
every returned row becomes a suspect, which runs alone from then on; only a crash while alone
counts, and the third one makes a dead letter. Surviving a lonely run clears the suspicion.

Of a strand only the first becomes a suspect: the others are held behind it. What cannot have begun,
since an earlier one of its strand lives elsewhere, is free as it was.

A handler declared `on_crash="ask"` marked its row before it started: what it did is unknown, so
the row becomes a dead letter and a person decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from uuid import UUID

from sqlalchemy import (
    Connection,
    Integer,
    Table,
    and_,
    bindparam,
    false,
    func,
    or_,
    select,
    update,
)

from todoke import crash
from todoke.database import UNIQUE_ID, Database
from todoke.telemetry import Counts, log
from todoke.work.account import Account
from todoke.work.conclude import outcome_unknown
from todoke.work.hold import Place
from todoke.work.item import HELD, READY, SUSPECT, Failure, Item
from todoke.work.lanes import LaneLeases
from todoke.work.lease import RowLeases
from todoke.work.settle import Bury, Settling
from todoke.work.settlement import Dead, Settled
from todoke.work.strand import UNORDERED

CRASHED = "CRASHED"


class Rescuer:
    """Returns the work of processes whose lease has run out."""

    def __init__(
        self,
        settlings: Sequence[Settling],
        workers: Table,
        leases: RowLeases,
        lanes: LaneLeases,
        database: Database,
        bury: Bury,
        *,
        poison: int,
        poll: float,
        counts: Counts,
        account: Account,
        on_rescue: Callable[[], None] = lambda: None,
    ) -> None:
        self._leases, self._lanes = leases, lanes
        self._poll, self._counts, self._account = poll, counts, account
        self._on_rescue = on_rescue
        self._died: list[Dead] = []
        self._returns = [
            _Return(one, workers, database, bury, poison, self._died.append) for one in settlings
        ]
        self._clock, self._next_search = database.clock, 0.0

    def tick(self, connection: Connection) -> float:
        """Return what the dead held; answers how long to rest."""
        returned = 0
        self._died.clear()
        with connection.begin():
            dead = self._leases.expired(connection) + self._forgotten(connection)
            held = [one.held_by(connection, dead) for one in self._returns] if dead else []
            for owner in dead:
                returned += self._take_from(connection, owner, [of.get(owner, []) for of in held])
            crash.point("rescue.before_commit")
        crash.point("rescue.after_commit")
        self._account.of_written(self._died)
        if returned:
            self._on_rescue()
        return self._poll

    def _take_from(self, connection: Connection, owner: UUID, held: list[list[int]]) -> int:
        parts = zip(self._returns, held, strict=True)
        taken = sum(one.take_from(connection, owner, ids) for one, ids in parts)
        self._leases.deregister(connection, owner)
        self._counts["rescued"] += taken
        log.warning("worker %s is gone: %d of its messages were returned", owner, taken)
        return taken

    def _forgotten(self, connection: Connection) -> list[UUID]:
        """Owners that are not even registered; looked for rarely, since it reads the table."""
        if self._clock.monotonic() < self._next_search:
            return []
        self._next_search = self._clock.monotonic() + 300
        found = {owner for one in self._returns for owner in one.forgotten(connection)}
        return sorted(found | set(self._lanes.strangers(connection)))


class _Return:
    """Returning from one work table."""

    def __init__(
        self,
        settling: Settling,
        workers: Table,
        database: Database,
        bury: Bury,
        poison: int,
        on_death: Callable[[Dead], None],
    ) -> None:
        self._settling, self._table = settling, settling.table
        self._bury, self._poison, self._on_death = bury, poison, on_death
        live = self._table.live
        # Found without locks, then locked one by one: owners have no index, so looking for theirs
        # passes by all that waits. Theirs get no more meanwhile, since their process is locked.
        dead = live.c.owner.in_(bindparam("dead", type_=UNIQUE_ID, expanding=True))
        self._held = select(live.c.owner, live.c.id).where(dead).order_by(live.c.id)
        owner = live.c.owner == bindparam("dead_owner", type_=UNIQUE_ID)
        theirs = and_(database.among(live.c.id, "ids"), owner)
        self._blame = update(live).where(theirs, live.c.alone).values(crashes=live.c.crashes + 1)
        poisonous = live.c.crashes >= bindparam("poison", type_=Integer())
        self._doomed = (
            select(*(live.c[name] for name in Item._fields), live.c.started)
            .where(theirs, or_(live.c.started, poisonous))
            .with_for_update()
        )
        self._rest = (
            select(live.c.id, live.c.strand, live.c.stream, live.c.lane)
            .where(theirs)
            .order_by(live.c.id)
            .with_for_update()
        )
        self._free = (
            update(live)
            .where(database.among(live.c.id, "ids"))
            .values(
                state=bindparam("new_state"),
                owner=None,
                alone=false(),
                spared=live.c.spared + 1,
                updated_at=database.now,
            )
        )
        self._first = (
            select(live.c.strand, func.min(live.c.id).label("id"))
            .where(database.among(live.c.strand, "of"))
            .group_by(live.c.strand)
        )
        known = select(workers.c.id)
        self._strangers = (
            select(live.c.owner)
            .distinct()
            .where(live.c.owner.is_not(None), live.c.owner.not_in(known))
        )

    def held_by(self, connection: Connection, dead: Sequence[UUID]) -> dict[UUID, list[int]]:
        """What each of the dead has claimed."""
        held: defaultdict[UUID, list[int]] = defaultdict(list)
        for owner, row in connection.execute(self._held, {"dead": dead}):
            held[owner].append(row)
        return held

    def take_from(self, connection: Connection, owner: UUID, ids: Sequence[int]) -> int:
        if not ids:
            return 0
        whose = {"dead_owner": owner, "ids": list(ids)}
        connection.execute(self._blame, whose)
        doomed = connection.execute(self._doomed, {**whose, "poison": self._poison}).all()
        for *fields, started in doomed:
            self._die(connection, Item(*fields), owner, asked=started)
        rest = [Place(*row) for row in connection.execute(self._rest, whose)]
        for state, chosen in self._in_order(connection, rest).items():
            if chosen:
                connection.execute(self._free, {"ids": chosen, "new_state": state})
        return len(doomed) + len(rest)

    def forgotten(self, connection: Connection) -> list[UUID]:
        return list(connection.execute(self._strangers).scalars())

    def _in_order(self, connection: Connection, rows: Sequence[Place]) -> dict[str, list[int]]:
        """Who may have been the culprit, who waits behind one, and who cannot have begun.

        A row with an earlier one of its strand alive elsewhere was only claimed: behind a barrier
        that was lifted before it could be held back. As a suspect it would overtake.
        """
        states: dict[str, list[int]] = {SUSPECT: [], HELD: [], READY: []}
        strands = sorted({place.strand for place in rows if place.lane != UNORDERED})
        barriers = self._settling.holds.barriers(connection, strands)
        first = self._first_living(connection, strands)
        for place in rows:
            if place.lane == UNORDERED:
                states[SUSPECT].append(place.id)
            elif place.id > barriers.get(place.strand, place.id):
                states[HELD].append(place.id)
            elif place.id > first.get(place.strand, place.id):
                states[READY].append(place.id)
            else:
                states[SUSPECT].append(place.id)
                self._settling.holds.block(connection, place)
                barriers[place.strand] = place.id
        return states

    def _first_living(self, connection: Connection, strands: Sequence[int]) -> dict[int, int]:
        if not strands:
            return {}
        return {row.strand: row.id for row in connection.execute(self._first, {"of": strands})}

    def _die(self, connection: Connection, item: Item, owner: UUID, *, asked: bool) -> None:
        live = self._table.live
        guard = (live.c.id == item.id) & (live.c.owner == owner)
        dead = Dead(item, _verdict(item, asked=asked), final=True)
        self._bury(connection, self._table, guard, item, dead.failure)
        self._on_death(dead)
        if item.ordered and self._settling.opens(dead):
            self._settling.pass_on(connection, [item], Settled())
        elif item.ordered:
            self._settling.holds.block(connection, Place.of(item))


def _verdict(item: Item, *, asked: bool) -> Failure:
    if asked:
        return outcome_unknown(item)
    return Failure(
        "permanent",
        CRASHED,
        f"Its worker died {item.crashes} times while it ran alone, so it is the cause.",
    )
