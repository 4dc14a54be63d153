"""How an attempt ended, and what was really written of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy import Connection

from todoke.work.item import Failure, Item

Then: TypeAlias = Callable[[Connection], None]


def in_turn(first: Then | None, second: Then | None) -> Then | None:
    """One after the other, as far as there are two."""
    if first is None or second is None:
        return first or second

    def write(connection: Connection) -> None:
        first(connection)
        second(connection)

    return write


@dataclass(slots=True)
class Processed:
    """It is done, by a handler or by becoming deliveries; `then` is written along."""

    item: Item
    note: str | None = None
    then: Then | None = None
    handled: bool = True
    result: object = None
    ends_well: bool = True
    """What was to follow it may follow."""


@dataclass(slots=True)
class Later:
    """Again in so many seconds; spared if this attempt does not count."""

    item: Item
    seconds: float
    failure: Failure | None = None
    spared: bool = False
    of: int | None = None


@dataclass(slots=True)
class Dead:
    """Given up; final where not even `followers="block"` may try it again."""

    item: Item
    failure: Failure
    final: bool = False


@dataclass(slots=True)
class HandedBack:
    """Claimed, but not to be finished here; the attempt does not count."""

    item: Item


@dataclass(slots=True)
class Held:
    """Claimed behind a head that did not get through; waits for it, the attempt does not count."""

    item: Item


Settlement: TypeAlias = Processed | Later | Dead | HandedBack | Held


@dataclass(slots=True)
class Settled:
    """What a settling transaction really wrote."""

    processed: int = 0
    later: int = 0
    dead: int = 0
    handed_back: int = 0
    fenced: list[Item] = field(default_factory=list)
    barriers: list[tuple[Item, int | None]] = field(default_factory=list)

    def add(self, other: Settled) -> None:
        self.processed += other.processed
        self.later += other.later
        self.dead += other.dead
        self.handed_back += other.handed_back
        self.fenced += other.fenced
        self.barriers += other.barriers
