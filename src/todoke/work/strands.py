"""The strands of one source in this process: what may begin, what waits, what is held back."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from todoke import crash
from todoke.work.hold import Place
from todoke.work.item import Item
from todoke.work.lanes import Lanes
from todoke.work.order import Entry, Runs
from todoke.work.settle import Settling
from todoke.work.settlement import HandedBack, Held, Settled, Settlement


class Strands:
    """Keeps the order of rows in hand, and remembers the barriers of the lanes that are ours."""

    def __init__(self, settling: Settling, lanes: Lanes) -> None:
        self._settling, self._lanes = settling, lanes
        self._source = settling.table.source
        self.runs: Runs = Runs()
        self._to_pass_on: list[Item] = []

    @property
    def idle(self) -> bool:
        return not self._to_pass_on

    def is_held(self, item: Item) -> bool:
        """There may be a barrier: known here, or, for a suspect of whatever lane, in its row."""
        return item.alone or self._barrier(item) is not None

    def is_beyond(self, item: Item) -> bool:
        barrier = self._barrier(item)
        return barrier is not None and item.id > barrier and not item.alone

    def hold_back(self, connection: Connection, owner: UUID, items: Sequence[Item]) -> int:
        """Hold followers of heads that wait; answers how many.

        A barrier we know may have been lifted meanwhile, by a person or by another worker.
        """
        holds = self._settling.holds
        with connection.begin():
            held, barriers = holds.hold_back(connection, owner, items)
            crash.point("hold.before_commit")
        for item in items:
            self._note(item, barriers.get(item.strand))
        count = len(held)
        if count * 2 > len(items):
            first = next(item for item in items if item.id in held)
            with connection.begin():
                count += holds.sweep(connection, Place.of(first))
        return count

    def add(self, entry: Entry) -> bool:
        """True when it may begin at once."""
        return not entry.item.ordered or self.runs.add(entry)

    def add_returning(self, item: Item, owner: UUID) -> None:
        """It was claimed and cannot be taken in: nothing behind it may begin before it is back."""
        if item.ordered:
            self.runs.add(Entry(item, owner, HandedBack(item), goes_back=True))

    def take_along(self, group: list[Settlement], owner: UUID) -> list[Entry]:
        """What waits in hand behind an item that did not get through goes back with it.

        Answers all of it. What was claimed under another name than the group's is not in the group:
        after a lost lease a row may wait behind an older attempt.
        """
        taken = []
        for settlement in list(group):
            if settlement.item.ordered and not self._settling.opens(settlement):
                back = HandedBack if isinstance(settlement, HandedBack) else Held
                behind = self.runs.send_back(settlement.item)
                group.extend(back(entry.item) for entry in behind if entry.owner == owner)
                taken += behind
        return taken

    def following(self, item: Item) -> Entry | None:
        """It is settled: the next of its strand, which may begin."""
        return self.runs.settled(item) if item.ordered else None

    def stop(self, item: Item) -> list[Entry]:
        """It is not ours any more, and not settled: what waits behind it, which must not begin."""
        if not item.ordered:
            return []
        behind = self.runs.send_back(item)
        self.runs.leave(item)
        return behind

    def note_passed(self, item: Item) -> None:
        """Settled in its handler's own transaction: the barrier at it is ours to lift."""
        if item.ordered and self._barrier(item) == item.id:
            self._to_pass_on.append(item)

    def pass_on(self, connection: Connection) -> bool:
        """Lift those barriers; True when followers were let go."""
        passed = bool(self._to_pass_on)
        while self._to_pass_on:
            settled = Settled()
            with connection.begin():
                self._settling.pass_on(connection, self._to_pass_on[:1], settled)
                crash.point("hold.before_pass_on")
            self.note(settled)
            self._to_pass_on.pop(0)
        return passed

    def note(self, settled: Settled) -> None:
        for item, barrier in settled.barriers:
            self._note(item, barrier)

    def _barrier(self, item: Item) -> int | None:
        if not item.ordered:
            return None
        return self._lanes.barriers(item.stream, item.lane, self._source).get(item.strand)

    def _note(self, item: Item, barrier: int | None) -> None:
        known = self._lanes.barriers(item.stream, item.lane, self._source)
        if barrier is None:
            known.pop(item.strand, None)
        else:
            known[item.strand] = barrier
