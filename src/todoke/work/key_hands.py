"""Keys in hand: which slots this process still needs, and which it is to free."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import Connection

from todoke.work.item import Item
from todoke.work.key_slots import NO_KEY, KeySlots, Readied


class KeyHands:
    """Counts rows in hand by key; used by the worker's thread.

    A slot is freed after it is written what became of its row: between the two the limit is merely
    too strict.
    """

    def __init__(self, keys: KeySlots) -> None:
        self._keys = keys
        self._rows: dict[tuple[UUID, int, int], int] = {}
        self._in_hand: Counter[tuple[UUID, int]] = Counter()
        self._loose: defaultdict[UUID, set[int]] = defaultdict(set)
        self._doubted: set[UUID] = set()

    def take(self, owner: UUID, items: Iterable[Item]) -> None:
        """These were claimed, each with a slot."""
        for item in items:
            if item.strand != NO_KEY:
                self._rows[_attempt(owner, item)] = item.strand
                self._in_hand[owner, item.strand] += 1

    def let_go(self, owner: UUID, items: Iterable[Item]) -> None:
        """It is written what became of these; those that were claimed without a slot are none."""
        for item in items:
            strand = self._rows.pop(_attempt(owner, item), None)
            if strand is not None:
                self._in_hand[owner, strand] -= 1
                self._loose[owner].add(strand)

    def doubt(self, owner: UUID) -> None:
        """A reply was lost: there may be slots that nobody here knows of."""
        self._doubted.add(owner)

    def free(self, connection: Connection) -> list[Readied]:
        """Free what is not needed any more; answers what may be claimed again."""
        if not (self._loose or self._doubted):
            return []
        with connection.begin():
            for owner in self._doubted:
                self._loose[owner].update(self._keys.strands_of(connection, owner))
            readied = [
                one
                for owner, strands in self._loose.items()
                for one in self._keys.trim(connection, owner, self._needed(owner, strands))
            ]
        self._loose.clear()
        self._doubted.clear()
        self._in_hand = +self._in_hand
        return readied

    def _needed(self, owner: UUID, strands: Iterable[int]) -> dict[int, int]:
        return {strand: self._in_hand[owner, strand] for strand in strands}


def _attempt(owner: UUID, item: Item) -> tuple[UUID, int, int]:
    # With its number: beside an answer that is being written the row may be claimed again.
    return owner, item.id, item.attempt
