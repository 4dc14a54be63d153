"""Writing settlements down, a group at a time: in the worker's thread, or beside it.

Beside it, the next batch is claimed while the last is settled, on a connection of its own. A group
is given up only once it is written: while the database is away it stays first in the row.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection

from todoke import crash
from todoke.database import Database
from todoke.telemetry import log
from todoke.work.conclude import describe
from todoke.work.settlement import Dead, Settled, Settlement
from todoke.work.stream import Source

_IDLE = 1.0


@dataclass(slots=True, eq=False)
class Group:
    """Settlements of one source by one owner, and what became of them."""

    source: Source
    owner: UUID
    settlements: list[Settlement]
    settled: Settled = field(default_factory=Settled)


class Settler:
    """Writes groups; one settlement that cannot be written does not keep the others."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, connection: Connection, group: Group) -> None:
        try:
            group.settled = self._write(connection, group, group.settlements)
        except Exception as error:
            if self._passes_by(error):
                raise
            group.settled = self._one_by_one(connection, group)

    def _one_by_one(self, connection: Connection, group: Group) -> Settled:
        settled = Settled()
        for position, settlement in enumerate(group.settlements):
            try:
                settled.add(self._write(connection, group, [settlement]))
            except Exception as error:
                if self._passes_by(error):
                    raise
                log.exception("message %s could not be settled", settlement.item.message_id)
                dead = Dead(settlement.item, describe(error, "permanent"))
                group.settlements[position] = dead
                settled.add(self._write(connection, group, [dead]))
        return settled

    def _write(
        self, connection: Connection, group: Group, settlements: list[Settlement]
    ) -> Settled:
        settling, is_held = group.source.settling, group.source.strands.is_held
        if self._database.moves_at_once and settling.is_plain(settlements, is_held):
            crash.point("settle.before_commit")
            settled, left = settling.settle_plain(connection, group.owner, settlements)
        else:
            settled, left = Settled(), settlements
        if left:
            with connection.begin():
                settled.add(settling.settle(connection, group.owner, left, is_held))
                crash.point("settle.before_commit")
        crash.point("settle.after_commit")
        return settled

    def _passes_by(self, error: Exception) -> bool:
        """No fault of a settlement: to be written again later."""
        return self._database.is_lost(error) or self._database.passes(error)


class Beside:
    """An agent that settles while the worker claims; the worker gives and takes back groups."""

    def __init__(self, settler: Settler, on_written: Callable[[], None]) -> None:
        self._settler, self._on_written = settler, on_written
        self._given: deque[Group] = deque()
        self._written: deque[Group] = deque()
        self.on_given: Callable[[], None] = lambda: None

    @property
    def busy(self) -> bool:
        return bool(self._given)

    def groups(self) -> list[Group]:
        """All that the worker has not taken back yet."""
        return [*self._given, *self._written]

    def give(self, group: Group) -> None:
        self._given.append(group)
        self.on_given()

    def written(self) -> list[Group]:
        return [self._written.popleft() for _ in range(len(self._written))]

    def take_over(self) -> list[Group]:
        """What is still to be written, once the agent has stopped."""
        return [self._given.popleft() for _ in range(len(self._given))]

    def tick(self, connection: Connection) -> float:
        while self._given:
            group = self._given[0]
            self._settler.write(connection, group)
            self._written.append(group)
            self._given.popleft()
            self._on_written()
        return _IDLE


class Unsettled:
    """What was answered and is not written yet, as far as anybody here knows."""

    def __init__(self, database: Database, beside: Beside | None) -> None:
        self._settler, self._beside = Settler(database), beside
        self._waiting: defaultdict[tuple[Source, UUID], list[Settlement]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._waiting or self._being_written)

    @property
    def can_be_written(self) -> bool:
        return bool(self._waiting) and not self._is_busy

    def is_behind(self, batch: int) -> bool:
        """A batch of answers waits while another is written: more would only pile up."""
        return self._is_busy and sum(map(len, self._waiting.values())) >= batch

    def add(self, source: Source, owner: UUID, *settlements: Settlement) -> None:
        self._waiting[source, owner] += settlements

    def write(self, connection: Connection, complete: Callable[[Group], None]) -> Iterator[Group]:
        """Write all, each group completed before; answers those that are written by now."""
        if self._beside is not None:
            yield from self._beside.written()
        for source, owner in [] if self._is_busy else list(self._waiting):
            group = Group(source, owner, self._waiting[source, owner])
            complete(group)
            if self._beside is None:
                self._settler.write(connection, group)
            # Only now: what could not be written because the database is away is written later.
            del self._waiting[source, owner]
            if self._beside is None:
                yield group
            else:
                self._beside.give(group)

    def take_over(self) -> None:
        """From now on written by whoever calls `write`: the loop of the agent beside has ended."""
        if self._beside is not None:
            for group in self._beside.take_over():
                self.add(group.source, group.owner, *group.settlements)
            self._beside = None

    def claims(self, source: str) -> set[tuple[int, int]]:
        return {one.item.claim for of, one in self._all() if of.name == source}

    def holds(self, place: tuple[str, int]) -> bool:
        return any(place == (of.name, one.item.id) for of, one in self._all())

    def _all(self) -> Iterator[tuple[Source, Settlement]]:
        for (source, _), settlements in self._waiting.items():
            yield from ((source, one) for one in settlements)
        for group in self._being_written:
            yield from ((group.source, one) for one in list(group.settlements))

    @property
    def _being_written(self) -> list[Group]:
        return self._beside.groups() if self._beside is not None else []

    @property
    def _is_busy(self) -> bool:
        return self._beside is not None and self._beside.busy
