"""So many at once of each key: a row in `key_slots` for each that is in somebody's hands.

    claimed ─▶ a slot of its key, in the same transaction; with none left the row is `held`
    settled, handed back, its process gone ─▶ the slot is deleted, the next held row is readied

A row is there only while its slot is taken, so keys leave nothing behind, however many there are;
the primary key lets nobody have one slot twice. Whoever holds a row back has all slots of its key
locked; so whoever frees one of them comes later, and finds the held row. Slots belong to processes:
one that dies loses them in the transaction that returns its rows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    Connection,
    Index,
    MetaData,
    SmallInteger,
    Table,
    bindparam,
    delete,
    func,
    select,
    text,
    update,
)

from todoke.database import UNIQUE_ID, Database, reading
from todoke.work.item import HELD, READY, SUSPECT
from todoke.work.strand import UNORDERED
from todoke.work.table import WorkTable, in_state

LimitOf: TypeAlias = Callable[[str], int | None]
"""How many of each key may be in hand at once in a stream; None where nobody counts."""

Taken: TypeAlias = Mapping[int, Mapping[int, UUID]]
"""strand -> number of a slot -> whose it is."""

NO_KEY = 0
"""The strand of what is not counted: it needs no slot, and is never held for one."""
_FIRST = -(2**63)
_SWEPT_KEYS = 500
_UNCOUNTED = 1000
"""How many rows of a key are readied at once whose limit is not known any more."""


def key_slot_table(metadata: MetaData, database: Database) -> Table:
    slots = Table(
        f"{database.prefix}key_slots",
        metadata,
        Column("strand", BigInteger, primary_key=True, autoincrement=False),
        Column("number", SmallInteger, primary_key=True, autoincrement=False),
        Column("owner", UNIQUE_ID, nullable=False),
        schema=database.schema,
    )
    Index(f"{slots.name}_owner", slots.c.owner)
    return slots


def index_turns(live: Table, database: Database) -> None:
    """Who of a key is next, found by one step, however many wait."""
    by_state = () if database.partial_indexes else (live.c.state,)
    turns = (*by_state, live.c.strand, live.c.priority, live.c.id)
    held = text(f"state = '{HELD}'")
    Index(f"{live.name}_turns", *turns, postgresql_where=held, sqlite_where=held)


class Readied(NamedTuple):
    """A row that may be claimed again."""

    id: int
    stream: str
    priority: int


class KeySlots:
    """Takes and frees the slots of keys of one work table."""

    def __init__(
        self,
        table: WorkTable,
        slots: Table,
        workers: Table,
        database: Database,
        limit_of: LimitOf,
    ) -> None:
        self.slots: Table = slots
        self.limit_of: LimitOf = limit_of
        self._swept = _FIRST
        columns, live = slots.c, table.live
        holder: BindParameter[UUID] = bindparam("holder", type_=UNIQUE_ID)
        mine = columns.owner == holder
        among = database.among(columns.strand, "strands")
        self._taken = select(columns.strand, columns.number, columns.owner).where(among)
        self._add = database.add_missing(slots)
        # What is being freed is left out: its key is not full for certain.
        self._freeze = (
            select(columns.strand)
            .where(among)
            .order_by(columns.strand, columns.number)
            .with_for_update(read=True, key_share=True, skip_locked=True)
        )
        self._mine = (
            select(columns.strand, columns.number)
            .where(mine, among)
            .order_by(columns.strand, columns.number)
            .with_for_update()
        )
        self._strands = select(columns.strand).distinct().where(mine)
        here = (columns.strand == bindparam("of_strand"), columns.number == bindparam("of_number"))
        self._free = delete(slots).where(*here, mine)
        held = (in_state(live, HELD), live.c.lane == UNORDERED)
        # A subquery for each slot: one step through the index, where a join might read all of it.
        first = select(live.c.id).where(*held, live.c.strand == columns.strand).limit(1)
        follows = first.correlate(slots).scalar_subquery().is_not(None)
        self._crowded = select(columns.strand).distinct().where(among, follows)
        self._suspects = select(live.c.strand).where(
            in_state(live, SUSPECT),
            live.c.owner.is_(None),
            database.among(live.c.strand, "strands"),
        )
        self._next = (
            select(live.c.id, live.c.stream, live.c.priority)
            .where(*held, live.c.strand == bindparam("of_strand"))
            .order_by(live.c.priority, live.c.id)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )
        self._ready = (
            update(live)
            .where(database.among(live.c.id, "ids"))
            .values(state=READY, updated_at=database.now)
        )
        taken = select(func.count()).where(columns.strand == live.c.strand)
        self._following = (
            select(live.c.strand, live.c.stream, taken.correlate(live).scalar_subquery())
            .where(*held, live.c.strand > bindparam("last"))
            .order_by(live.c.strand, live.c.priority, live.c.id)
            .limit(1)
        )
        known = select(workers.c.id)
        self._strangers = select(columns.owner).distinct().where(columns.owner.not_in(known))

    # --- taking ------------------------------------------------------------------------------

    def taken(self, connection: Connection, strands: Iterable[int]) -> Taken:
        """The slots of these keys that somebody has."""
        found: defaultdict[int, dict[int, UUID]] = defaultdict(dict)
        wanted = {"strands": sorted(set(strands))}
        for strand, number, owner in connection.execute(self._taken, wanted):
            found[strand][number] = owner
        return found

    def take(
        self,
        connection: Connection,
        owner: UUID,
        taken: Taken,
        wanted: Mapping[int, int],
        limit: int,
    ) -> Counter[int]:
        """Take so many of each key, none beyond its limit; answers how many were to be had.

        Only for a process whose registration the transaction has locked.
        """
        chosen = [
            (strand, number)
            for strand in sorted(wanted)
            if strand != NO_KEY
            for number in _free_numbers(taken.get(strand, ()), owner, limit)[: wanted[strand]]
        ]
        granted = Counter({NO_KEY: wanted.get(NO_KEY, 0)})
        if not chosen:
            return granted
        rows = [{"strand": strand, "number": number, "owner": owner} for strand, number in chosen]
        connection.execute(self._add, rows)
        # Another may have been faster: what was free is asked again, by whose it is now.
        now = self.taken(connection, wanted)
        granted.update(strand for strand, number in chosen if now[strand].get(number) == owner)
        return granted

    def full(self, connection: Connection, strands: Collection[int], limit: int) -> set[int]:
        """Keys that have no slot left; none is freed before the transaction ends."""
        if not strands:
            return set()
        frozen = Counter(connection.execute(self._freeze, {"strands": sorted(strands)}).scalars())
        return {strand for strand in strands if frozen[strand] >= limit}

    # --- freeing -----------------------------------------------------------------------------

    def strands_of(self, connection: Connection, owner: UUID) -> Sequence[int]:
        """The keys that the owner has slots of."""
        return connection.execute(self._strands, {"holder": owner}).scalars().all()

    def trim(self, connection: Connection, owner: UUID, keep: Mapping[int, int]) -> list[Readied]:
        """Free the owner's slots of these keys but so many of each, and let others go on.

        Told how many to keep and not how many to free: it may be repeated if no reply came.
        """
        if not keep:
            return []
        mine: defaultdict[int, list[int]] = defaultdict(list)
        wanted = {"holder": owner, "strands": sorted(keep)}
        for strand, number in connection.execute(self._mine, wanted):
            mine[strand].append(number)
        # The highest go first: where the limit was lowered, those are to run dry.
        surplus = {strand: numbers[keep[strand] :] for strand, numbers in mine.items()}
        freed = {strand: len(numbers) for strand, numbers in surplus.items() if numbers}
        if not freed:
            return []
        crowded = connection.execute(self._crowded, {"strands": sorted(freed)}).scalars().all()
        gone = [
            {"of_strand": strand, "of_number": number, "holder": owner}
            for strand in sorted(freed)
            for number in surplus[strand]
        ]
        connection.execute(self._free, gone)
        return self._let_go_on(connection, {strand: freed[strand] for strand in sorted(crowded)})

    def free(self, connection: Connection, owner: UUID) -> int:
        """Free all slots of a process that is no more, in the transaction that deregisters it."""
        strands = self.strands_of(connection, owner)
        self.trim(connection, owner, dict.fromkeys(strands, 0))
        return len(strands)

    def _let_go_on(self, connection: Connection, freed: Mapping[int, int]) -> list[Readied]:
        """Ready the next of each key, as many as slots were freed; but a suspect goes first.

        It needs a worker with empty hands: as long as others of its key were readied, it would
        hardly ever find a slot.
        """
        if not freed:
            return []
        suspects = Counter(connection.execute(self._suspects, {"strands": sorted(freed)}).scalars())
        readied: list[Readied] = []
        for strand, count in freed.items():
            if count > suspects[strand]:
                wanted = {"of_strand": strand, "at_most": count - suspects[strand]}
                readied += [Readied(*row) for row in connection.execute(self._next, wanted)]
        if readied:
            connection.execute(self._ready, {"ids": [one.id for one in readied]})
        return readied

    # --- sweeping ----------------------------------------------------------------------------

    def sweep(self, connection: Connection) -> int:
        """Ready held rows that nobody frees a slot for; answers how many.

        A limit was raised, or is gone; the row whose turn it was has been taken away by a person.
        Looks at so many keys each time, and goes on behind them the next time.
        """
        with reading(connection):
            strangers = connection.execute(self._strangers).scalars().all()
            idle = self._find_idle(connection)
        for owner in strangers:
            with connection.begin():
                self.free(connection, owner)
        readied = 0
        for strand, free in idle.items():
            with connection.begin():
                readied += len(self._let_go_on(connection, {strand: free}))
        return readied

    def _find_idle(self, connection: Connection) -> dict[int, int]:
        """Keys that some row is held of, and how many slots each has left."""
        idle: dict[int, int] = {}
        for _ in range(_SWEPT_KEYS):
            row = connection.execute(self._following, {"last": self._swept}).first()
            self._swept = _FIRST if row is None else row[0]
            if row is None:
                break
            strand, stream, taken = row
            if strand == NO_KEY:
                continue  # held for another reason
            limit = self.limit_of(stream)
            # Where nobody here counts, somebody else may: as long as slots are taken.
            free = (0 if taken else _UNCOUNTED) if limit is None else limit - taken
            if free > 0:
                idle[strand] = free
        return idle


def _free_numbers(taken: Collection[int], owner: UUID, limit: int) -> list[int]:
    """Each process begins elsewhere, so that those who take at the same time meet rarely."""
    numbers = ((owner.int + step) % limit for step in range(limit))
    return [number for number in numbers if number not in taken]
