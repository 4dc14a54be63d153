"""What all processes know of destinations: a row for each, and a row for each of its slots.

Asking for room waits for nobody: what another process is writing is skipped and asked again.
A process that vanished inside a transaction must not stop the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Double,
    Integer,
    MetaData,
    String,
    Table,
    bindparam,
    case,
    func,
    select,
    update,
)

from todoke.database import UNIQUE_ID, Database, Moment
from todoke.work.lease import registration

_ALL = 1_000_000


@dataclass(frozen=True, eq=False)
class DestinationTables:
    destinations: Table
    slots: Table


def destination_tables(metadata: MetaData, database: Database) -> DestinationTables:
    destinations = Table(
        f"{database.prefix}destinations",
        metadata,
        Column("name", String(200), primary_key=True),
        Column("open_until", Moment()),
        Column("opened_at", Moment()),
        Column("tokens", Double),
        Column("refilled_at", Moment()),
        Column("updated_at", Moment(), nullable=False),
        schema=database.schema,
    )
    slots = Table(
        f"{database.prefix}slots",
        metadata,
        Column("destination", String(200), primary_key=True),
        Column("number", Integer, primary_key=True, autoincrement=False),
        Column("owner", UNIQUE_ID),
        schema=database.schema,
    )
    return DestinationTables(destinations, slots)


@dataclass(frozen=True, slots=True)
class State:
    """A destination's row, and what time the database had when it was read."""

    open_until: datetime | None
    tokens: float | None
    refilled_at: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True)
class DestinationRecord:
    """A destination as people see it; tokens as they were left by the last call."""

    name: str
    open_until: datetime | None
    opened_at: datetime | None
    tokens: float | None
    slots_held: int


class DestinationRows:
    """Reads and writes the row of a destination."""

    def __init__(self, destinations: Table, database: Database) -> None:
        columns = destinations.c
        here = columns.name == bindparam("of_name")
        is_open = columns.open_until.is_not(None)
        stated = (columns.open_until, columns.tokens, columns.refilled_at)
        self._read = select(*stated, database.now.label("now")).where(here)
        self._lock = self._read.with_for_update(skip_locked=True)
        self._add = database.add_missing(destinations)
        self._add_values = {"updated_at": database.now}
        change = update(destinations).where(here).values(updated_at=database.now)
        self._fill = change.values(
            tokens=bindparam("left_over"), refilled_at=bindparam("filled", type_=Moment())
        )
        more = columns.tokens + bindparam("returned", type_=Double())
        full: BindParameter[float] = bindparam("full", type_=Double())
        self._return = change.where(columns.tokens.is_not(None)).values(
            tokens=case((more > full, full), else_=more)
        )
        rest = database.after("rest")
        self._open = change.where(~is_open).values(open_until=rest, opened_at=database.now)
        self._prolong = change.where(is_open).values(open_until=rest)
        self._end_rest = change.where(is_open).values(open_until=database.now)
        self._close = change.where(is_open).values(open_until=None, opened_at=None)

    def read(self, connection: Connection, name: str) -> State:
        row = connection.execute(self._read, {"of_name": name}).first()
        if row is None:
            connection.execute(self._add.values(name=name, **self._add_values))
            row = connection.execute(self._read, {"of_name": name}).one()
        return State(*row)

    def lock(self, connection: Connection, name: str) -> State | None:
        """The row, for this transaction alone; None while another has it."""
        row = connection.execute(self._lock, {"of_name": name}).first()
        return None if row is None else State(*row)

    def fill(self, connection: Connection, name: str, tokens: float, at: datetime) -> None:
        self._run(connection, self._fill, name, left_over=tokens, filled=at)

    def return_tokens(self, connection: Connection, name: str, tokens: int, full: int) -> None:
        self._run(connection, self._return, name, returned=tokens, full=full)

    def open(self, connection: Connection, name: str, rest: float) -> bool:
        """False when it was open already."""
        return self._run(connection, self._open, name, rest=rest)

    def prolong(self, connection: Connection, name: str, rest: float) -> bool:
        return self._run(connection, self._prolong, name, rest=rest)

    def end_rest(self, connection: Connection, name: str) -> bool:
        return self._run(connection, self._end_rest, name)

    def close(self, connection: Connection, name: str) -> bool:
        """False when it was closed already."""
        return self._run(connection, self._close, name)

    def _run(self, connection: Connection, statement: Any, name: str, **values: Any) -> bool:
        return bool(connection.execute(statement, {"of_name": name, **values}).rowcount)


class SlotRows:
    """Takes and frees slots; only a registered process can take one, so none is ever lost."""

    def __init__(self, slots: Table, workers: Table, database: Database) -> None:
        columns = slots.c
        here = columns.destination == bindparam("of_destination")
        holder: BindParameter[UUID] = bindparam("holder", type_=UNIQUE_ID)
        mine = columns.owner == holder
        numbered = columns.number.in_(bindparam("numbers", expanding=True))
        within = columns.number < bindparam("limited_to")
        self._registered = registration(workers, "holder")
        self._free = (
            select(columns.number)
            .where(here, within, columns.owner.is_(None))
            .order_by(columns.number)
            .limit(bindparam("at_most"))
            .with_for_update(skip_locked=True)
        )
        self._there = select(columns.number).where(here, within)
        self._add = database.add_missing(slots)
        self._take = update(slots).where(here, numbered).values(owner=holder)
        # The highest first: where the limit was lowered, those are to run dry.
        self._held = (
            select(columns.number)
            .where(here, mine)
            .order_by(columns.number.desc())
            .limit(bindparam("at_most"))
        )
        self._give_back = update(slots).where(here, numbered, mine).values(owner=None)
        self._free_all = update(slots).where(mine).values(owner=None)

    def take(
        self, connection: Connection, destination: str, owner: UUID, limit: int, wanted: int
    ) -> int:
        if connection.execute(self._registered, {"holder": owner}).first() is None:
            return 0
        numbers = self._find_free(connection, destination, limit, wanted)
        if len(numbers) < wanted and self._add_slots(connection, destination, limit):
            numbers = self._find_free(connection, destination, limit, wanted)
        if numbers:
            values = {"of_destination": destination, "numbers": numbers, "holder": owner}
            connection.execute(self._take, values)
        return len(numbers)

    def give_back(self, connection: Connection, destination: str, owner: UUID, count: int) -> int:
        values = {"of_destination": destination, "holder": owner}
        numbers = connection.execute(self._held, {**values, "at_most": count}).scalars().all()
        if numbers:
            connection.execute(self._give_back, {**values, "numbers": numbers})
        return len(numbers)

    def trim(self, connection: Connection, destination: str, owner: UUID, keep: int) -> int:
        """Free all of the owner's but so many: a reply was lost, and with it what was taken."""
        values = {"of_destination": destination, "holder": owner, "at_most": _ALL}
        held = connection.execute(self._held, values).scalars().all()
        return self.give_back(connection, destination, owner, max(0, len(held) - keep))

    def free(self, connection: Connection, owner: UUID) -> int:
        return connection.execute(self._free_all, {"holder": owner}).rowcount

    def _find_free(
        self, connection: Connection, destination: str, limit: int, wanted: int
    ) -> Sequence[int]:
        values = {"of_destination": destination, "limited_to": limit, "at_most": wanted}
        return connection.execute(self._free, values).scalars().all()

    def _add_slots(self, connection: Connection, destination: str, limit: int) -> bool:
        values = {"of_destination": destination, "limited_to": limit}
        there = set(connection.execute(self._there, values).scalars())
        missing = [number for number in range(limit) if number not in there]
        if missing:
            rows = [{"destination": destination, "number": number} for number in missing]
            connection.execute(self._add, rows)
        return bool(missing)


def read_status(connection: Connection, tables: DestinationTables) -> list[DestinationRecord]:
    known, slots = tables.destinations.c, tables.slots.c
    held = (
        select(func.count())
        .where(slots.destination == known.name, slots.owner.is_not(None))
        .scalar_subquery()
    )
    told = (known.name, known.open_until, known.opened_at, known.tokens, held)
    rows = connection.execute(select(*told).order_by(known.name))
    return [DestinationRecord(*row) for row in rows]
