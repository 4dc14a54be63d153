"""Ending an attempt: every write is guarded by (owner, attempt), and its count is checked.

    processed ──▶ history          dead ──▶ dead letters
    later     ──▶ same row, a later time (retry, snooze, not known here)
    handed back ▶ same row, free at once

    held      ──▶ same row, behind its key

A row that another attempt owns by now is left alone, counted as fenced, and nothing that was to
be written along with it is written. Where order is kept, a head that must be tried again, or dies
and parks, gets a barrier in the same transaction; a head that is settled lets its strand go on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Integer,
    Text,
    and_,
    bindparam,
    case,
    false,
    select,
    update,
)
from sqlalchemy.sql import ColumnElement

from todoke.database import UNIQUE_ID, Database
from todoke.work.hold import Holds, Place
from todoke.work.item import LATER, Failure, Item
from todoke.work.move import Alike, Move, fence
from todoke.work.settlement import (
    Dead,
    HandedBack,
    Held,
    Later,
    Processed,
    Settled,
    Settlement,
)
from todoke.work.strand import UNORDERED
from todoke.work.table import WorkTable


class Fate(Protocol):
    """What becomes of a key when an item of it runs out of attempts."""

    def followers(self, item: Item) -> str:
        """park, skip or block."""
        ...

    def longest_wait(self, item: Item) -> float:
        """Seconds between the attempts of one that never dies."""
        ...


class Witness(Protocol):
    """Writes along what else belongs to settlements of a table, all of a group at once."""

    stamp: Mapping[str, str]
    """What a settled row tells of its attempt, where it alone tells of it."""

    def is_silent(self, one: Processed) -> bool:
        """Nothing is to be written along: the settled row tells it all."""
        ...

    def write(
        self, connection: Connection, owner: UUID, settlements: Sequence[Settlement]
    ) -> None: ...


Bury: TypeAlias = Callable[[Connection, WorkTable, ColumnElement[bool], Item, Failure], bool]


class Settling:
    """Writes settlements of one work table."""

    def __init__(
        self,
        table: WorkTable,
        database: Database,
        bury: Bury,
        holds: Holds,
        fate: Fate,
        witness: Witness | None = None,
    ) -> None:
        self.table: WorkTable = table
        self.holds: Holds = holds
        self.witness: Witness | None = witness
        self._bury, self._fate = bury, fate
        self._move = Move(table, database, witness.stamp if witness else {})
        self._later = _later(table, database)
        self._hand_back = _hand_back(table, database)
        self._start = _start(table)
        self._was_settled = _was_settled(table)

    def settle(
        self,
        connection: Connection,
        owner: UUID,
        settlements: Sequence[Settlement],
        is_held: Callable[[Item], bool] = lambda _item: True,
    ) -> Settled:
        """Write all of them in the caller's transaction."""
        settled = Settled()
        plain = [one for one in settlements if isinstance(one, Processed)]
        witnessed = self._processed(connection, owner, plain, settled)
        for settlement in settlements:
            match settlement:
                case Later():
                    written = self._postpone(connection, owner, settlement)
                    settled.later += written
                case Dead(item, failure, _):
                    written = self._dies(connection, owner, item, failure)
                    settled.dead += written
                case HandedBack(item):
                    written = self._guarded(connection, self._hand_back, owner, item)
                    settled.handed_back += written
                case Held(item):
                    written = self.holds.set_back(connection, owner, [item.id])
                case Processed():
                    continue
            if not written:
                settled.fenced.append(settlement.item)
        self._keep_order(connection, settlements, settled, is_held)
        if self.witness is not None:
            fenced = {item.id for item in settled.fenced}
            others = {one.item.id for one in settlements if not isinstance(one, Processed)}
            wanted = witnessed | (others - fenced)
            kept = [one for one in settlements if one.item.id in wanted]
            self.witness.write(connection, owner, kept)
        return settled

    def is_plain(self, settlements: Sequence[Settlement], is_held: Callable[[Item], bool]) -> bool:
        """All are processed, with nothing to write along: one statement moves them."""
        return all(
            type(one) is Processed
            and one.then is None
            and (one.item.lane == UNORDERED or not is_held(one.item))
            and (self.witness is None or self.witness.is_silent(one))
            for one in settlements
        )

    def settle_plain(
        self, connection: Connection, owner: UUID, settlements: Sequence[Settlement]
    ) -> tuple[Settled, list[Settlement]]:
        """Move them, in a transaction of its own; answers those that could not be moved, too."""
        moved: set[int] = set()
        stamped = self.witness is not None
        for alike, ids in _groups(settlements, lambda _one: stamped).items():
            moved |= self._move.at_once(connection, owner, alike, ids)
        left = [one for one in settlements if one.item.id not in moved]
        return Settled(processed=len(moved)), left

    def opens(self, settlement: Settlement) -> bool:
        """What follows in its strand may go on."""
        if isinstance(settlement, Dead):
            return self._fate.followers(settlement.item) == "skip"
        return isinstance(settlement, Processed)

    def spared(self, settlement: Settlement) -> Settlement:
        """The same, but for one whose key is declared to wait for it for ever."""
        match settlement:
            case Dead(item, failure, final=False) if item.ordered:
                if self._fate.followers(item) == "block":
                    return Later(item, self._fate.longest_wait(item), failure)
        return settlement

    def pass_on(self, connection: Connection, items: Sequence[Item], settled: Settled) -> None:
        """Let the strands of settled items go on, as far as they were held."""
        now = self.holds.pass_on(connection, [Place.of(item) for item in items])
        settled.barriers += [(item, now[item.strand]) for item in items]

    def settle_first(self, connection: Connection, owner: UUID, item: Item) -> bool:
        """Settle as processed before the handler runs in the same transaction.

        The row lock this takes keeps a second runner out until the transaction ends.
        """
        return bool(self._move.run(connection, owner, Alike(item.attempt), [item.id]))

    def settled_first(
        self, connection: Connection, owner: UUID, item: Item, result: object
    ) -> None:
        """The handler has run: what else belongs to its settlement, before the commit."""
        if item.alone and item.ordered:
            # A suspect's lane may be another worker's, so nobody else lifts the barrier at it.
            self.pass_on(connection, [item], Settled())
        if self.witness is not None:
            self.witness.write(connection, owner, [Processed(item, result=result)])

    def start(self, connection: Connection, owner: UUID, item: Item) -> bool:
        """Record that the handler is about to start, for those that ask after a crash."""
        return self._guarded(connection, self._start, owner, item) == 1

    def was_settled(self, connection: Connection, owner: UUID, item: Item) -> bool:
        """This very attempt was settled as processed: only the reply to its commit was lost."""
        guard = {"this_id": item.id, "fence_owner": owner, "fence_attempt": item.attempt}
        return connection.execute(self._was_settled, guard).first() is not None

    def _processed(
        self, connection: Connection, owner: UUID, wishes: Sequence[Processed], settled: Settled
    ) -> set[int]:
        """Answers those that a witness is to be told of.

        Not those that an earlier try had settled, of which only the reply was lost: it had told.
        """
        moved, witnessed = set[int](), set[int]()
        is_silent = self.witness.is_silent if self.witness else lambda _one: False
        for alike, ids in _groups(wishes, is_silent).items():
            written = self._move.run(connection, owner, alike, ids)
            moved |= written
            witnessed |= set() if alike.stamped else written
        settled.processed += len(moved)
        # In the order they were claimed in: what they write keeps that order.
        for wish in wishes:
            if wish.item.id in moved:
                if wish.then is not None:
                    wish.then(connection)
            elif self.was_settled(connection, owner, wish.item):
                settled.processed += 1  # whoever got no reply has not counted it
            else:
                settled.fenced.append(wish.item)
        return witnessed

    def _keep_order(
        self,
        connection: Connection,
        settlements: Sequence[Settlement],
        settled: Settled,
        is_held: Callable[[Item], bool],
    ) -> None:
        fenced = {item.id for item in settled.fenced}
        self._look_behind(connection, [item for item in settled.fenced if item.ordered], settled)
        ordered = [one for one in settlements if one.item.ordered and one.item.id not in fenced]
        gone = [one.item for one in ordered if self.opens(one) and is_held(one.item)]
        if gone:
            self.pass_on(connection, gone, settled)
        for one in ordered:
            if isinstance(one, Later | Dead) and not self.opens(one):
                self.holds.block(connection, Place.of(one.item))
                settled.barriers.append((one.item, one.item.id))

    def _look_behind(
        self, connection: Connection, fenced: Sequence[Item], settled: Settled
    ) -> None:
        """Perhaps it was this very settlement, and only the reply to its commit was lost."""
        barriers = self.holds.barriers(connection, (item.strand for item in fenced))
        settled.barriers += [(item, barriers.get(item.strand)) for item in fenced]

    def _postpone(self, connection: Connection, owner: UUID, later: Later) -> int:
        failure = later.failure
        values = {
            "delay": later.seconds,
            "refund": int(later.spared),
            "limit_of": later.of,
            "failed": failure is not None,
            "new_class": failure and failure.error_class,
            "new_code": failure and failure.code,
            "new_message": failure and failure.message,
            "new_traceback": failure and failure.traceback,
        }
        return self._guarded(connection, self._later, owner, later.item, values)

    def _dies(self, connection: Connection, owner: UUID, item: Item, failure: Failure) -> int:
        guard = and_(self.table.live.c.id == item.id, fence(self.table, owner, item.attempt))
        return int(self._bury(connection, self.table, guard, item, failure))

    @staticmethod
    def _guarded(
        connection: Connection,
        statement: Any,
        owner: UUID,
        item: Item,
        values: dict[str, Any] | None = None,
    ) -> int:
        guard = {"this_id": item.id, "fence_owner": owner, "fence_attempt": item.attempt}
        return connection.execute(statement, {**guard, **(values or {})}).rowcount


def _groups(wishes: Iterable[Any], is_stamped: Callable[[Any], bool]) -> dict[Alike, list[int]]:
    """Ids, by what one statement says of all its rows."""
    groups: defaultdict[Alike, list[int]] = defaultdict(list)
    for wish in wishes:
        groups[Alike(wish.item.attempt, wish.note, is_stamped(wish))].append(wish.item.id)
    return groups


def _this(table: WorkTable) -> ColumnElement[bool]:
    return and_(table.live.c.id == bindparam("this_id", type_=BigInteger()), fence(table))


def _later(table: WorkTable, database: Database) -> Any:
    live = table.live
    failed = bindparam("failed", type_=Boolean())

    def error(column: str, parameter: str) -> Any:
        return case((failed, bindparam(parameter, type_=Text())), else_=live.c[column])

    return (
        update(live)
        .where(_this(table))
        .values(
            state=LATER,
            owner=None,
            alone=false(),
            started=false(),
            spared=live.c.spared + bindparam("refund", type_=Integer()),
            max_attempts=bindparam("limit_of", type_=Integer()),
            scheduled_at=database.after("delay"),
            updated_at=database.now,
            error_class=error("error_class", "new_class"),
            error_code=error("error_code", "new_code"),
            error_message=error("error_message", "new_message"),
            error_traceback=error("error_traceback", "new_traceback"),
        )
    )


def _hand_back(table: WorkTable, database: Database) -> Any:
    live = table.live
    return (
        update(live)
        .where(_this(table))
        .values(
            owner=None,
            alone=false(),
            started=false(),
            spared=live.c.spared + 1,
            updated_at=database.now,
        )
    )


def _start(table: WorkTable) -> Any:
    return update(table.live).where(_this(table)).values(started=True)


def _was_settled(table: WorkTable) -> Any:
    history = table.history
    return select(history.c.id).where(
        history.c.id == bindparam("this_id", type_=BigInteger()),
        history.c.owner == bindparam("fence_owner", type_=UNIQUE_ID),
        history.c.attempt == bindparam("fence_attempt", type_=Integer()),
    )
