"""Where a worker claims from, and how much it has in hand of each stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol, TypeAlias
from uuid import UUID

from sqlalchemy import Connection

from todoke.hint import FREE, parts_of
from todoke.work.call import Call
from todoke.work.claim import Claims
from todoke.work.destination import Destination, Outlet
from todoke.work.item import Item
from todoke.work.key_claim import KeyClaims
from todoke.work.key_hands import KeyHands
from todoke.work.key_slots import Readied
from todoke.work.level import Levels
from todoke.work.mark import Mark
from todoke.work.settle import Settling
from todoke.work.settlement import Settlement
from todoke.work.strand import queue_of
from todoke.work.strands import Strands

DestinationOf: TypeAlias = Callable[[str, str], Outlet | None]
"""Where the calls of a stream go, by source and stream."""


class Router(Protocol):
    """Decides where a claimed message goes: to a handler, or straight to a settlement."""

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement: ...


@dataclass(eq=False)
class Source:
    """A table that work comes from."""

    claims: Claims
    settling: Settling
    router: Router
    strands: Strands
    has_destinations: bool = False
    on_left: Callable[[Sequence[Item]], None] | None = None
    """Told which rows are no longer in hand, once that is written."""
    by_key: KeyClaims | None = None
    """For streams whose keys are counted, where there are such."""

    def __post_init__(self) -> None:
        self.name: str = self.settling.table.source
        self.keys: KeyHands | None = None if self.by_key is None else KeyHands(self.by_key.keys)

    def counting(self, stream: str) -> KeyClaims | None:
        """What to claim with from a stream whose keys are counted; None for the others."""
        counts = self.by_key is not None and self.by_key.limit_of(stream) is not None
        return self.by_key if counts else None

    def take_suspect(self, connection: Connection, owner: UUID, stream: str) -> list[Item]:
        """One row that was in a process when it died, to be run with no other beside it."""
        by_key = self.counting(stream)
        if by_key is None or self.keys is None:
            return self.claims.take_suspect(connection, owner, stream)
        items = by_key.take_suspect(connection, owner, stream)
        self.keys.take(owner, items)
        return items

    def suspect_has_room(self, connection: Connection, stream: str) -> bool:
        """The key of some suspect there has a slot left, as far as keys are counted."""
        by_key = self.counting(stream)
        return by_key is None or by_key.has_room_for_suspect(connection, stream)

    def let_go(self, owner: UUID, items: Sequence[Item]) -> None:
        """These are no longer in hand, and that is written: the slots of their keys are free."""
        if self.keys is not None:
            self.keys.let_go(owner, items)
        if self.on_left is not None:
            self.on_left(items)

    def doubt(self, owner: UUID) -> None:
        """A reply was lost: there may be slots of keys that nobody here knows of."""
        if self.keys is not None:
            self.keys.doubt(owner)


@dataclass(frozen=True, slots=True)
class Pace:
    """How much and how often to claim."""

    batch: int
    poll: float
    queues: Mapping[str, int]
    shortest_poll: float | None = None
    prefetch_seconds: float = 1.0
    overlaps: bool = False
    """The next batch is claimed while the last one is handled and settled."""


@dataclass(eq=False)
class Tap:
    """One place to claim from: a stream of a source, its ordered part or the other."""

    source: Source
    stream: str
    ordered: bool
    destination: Outlet | None = None
    next_claim: float = 0.0
    pause: float = 0.0
    yields: bool = False
    """There were rows at the last claim."""
    yielding: int = 0
    dry_lanes: int = 0
    turn: int = 0
    crowded: bool = False
    """The last claim took rows of full keys out of the way, and there may be more of them."""
    mark: Mark = field(default_factory=Mark)
    levels: Levels = field(default_factory=Levels)
    rung: set[int] = field(default_factory=set)
    """Lanes that something new was said to be in."""

    def is_due(self, now: float) -> bool:
        """To be claimed from, at least from the lanes that were rung for."""
        return bool(self.rung) or self.next_claim <= now

    def ring(self, place: str) -> None:
        if self.ordered and place.isdecimal() and self.destination is None:
            self.rung.add(int(place))
        elif self.ordered == (place != FREE):
            self.next_claim = 0.0

    def next_lanes(self, lanes: list[int], at_once: int) -> list[int]:
        """So many of them, beginning behind those that had their turn last."""
        in_turn = sorted(lanes, key=lambda lane: (lane < self.turn, lane))
        chosen = in_turn[:at_once]
        if len(chosen) < len(lanes):
            self.turn = chosen[-1] + 1
        return chosen

    def served(self, lanes: list[int], found: Collection[int]) -> None:
        """A claim was full before it came to the last of these lanes: they are the next."""
        self.turn = next(lane for lane in reversed(lanes) if lane in found) + 1

    def run_dry(self, now: float, pace: Pace) -> None:
        """Look again later: at once often, then ever more rarely, where nobody rings."""
        shortest = pace.shortest_poll or pace.poll
        self.pause = min(pace.poll, max(shortest, self.pause * 2))
        self.set_aside(now + self.pause)

    def set_aside(self, until: float) -> None:
        """Nothing is half way any more: all lanes have their turn then."""
        self.next_claim = until
        self.yielding = self.dry_lanes = 0
        self.crowded = False
        self.rung.clear()

    def has_yielded(self, some: bool) -> None:
        self.yields = some
        if some:
            self.pause = 0.0


class Taps:
    """All that this process claims from; streams that turn up later are added."""

    def __init__(self, sources: Iterable[Source], destination_of: DestinationOf) -> None:
        self._sources, self._destination_of = tuple(sources), destination_of
        self._by_stream: dict[str, list[Tap]] = {}
        self._turn = 0

    @property
    def streams(self) -> list[str]:
        return list(self._by_stream)

    def __contains__(self, stream: str) -> bool:
        return stream in self._by_stream

    def add(self, stream: str) -> None:
        if stream not in self._by_stream:
            self._by_stream[stream] = [
                Tap(source, stream, ordered, destination)
                for source in self._sources
                for destination in [self._destination_of(source.name, stream)]
                if destination is None or source.has_destinations
                for ordered in (True, False)
            ]

    def due(self, now: float) -> list[Tap]:
        """Those to claim from, another first each time: none is always the last."""
        due = [tap for taps in self._by_stream.values() for tap in taps if tap.is_due(now)]
        self._turn += 1
        start = self._turn % len(due) if due else 0
        return due[start:] + due[:start]

    def wake(self, hints: Collection[str] = ()) -> None:
        """Claim at the next tick; without hints everywhere."""
        for hint in hints:
            source, place, stream = parts_of(hint)
            for tap in self._by_stream.get(stream, ()):
                if tap.source.name == source:
                    tap.ring(place)
        if not hints:
            for stream in self._by_stream:
                self.wake_stream(stream)

    def wake_stream(self, stream: str) -> None:
        for tap in self._by_stream.get(stream, ()):
            tap.next_claim = 0.0

    def wake_for(self, parts: Collection[Destination]) -> None:
        """Claim at the next tick wherever one of these has to have room."""
        for tap in (tap for taps in self._by_stream.values() for tap in taps):
            if tap.destination is not None and any(one in parts for one in tap.destination.parts):
                tap.next_claim = 0.0

    def came_back(self, source: Source, row: Readied) -> None:
        """Claim at the next tick where this row is, and no later than at it."""
        for tap in self._by_stream.get(row.stream, ()):
            if tap.source is source and not tap.ordered:
                tap.next_claim = 0.0
                tap.mark.look_back(row.priority, row.id)

    def half_way(self) -> list[Tap]:
        """Those whose lanes have not all had their turn yet, or with full keys in the way."""
        taps = (tap for taps in self._by_stream.values() for tap in taps)
        return [tap for tap in taps if tap.dry_lanes or tap.crowded]

    def next_claim(self, now: float) -> float:
        """When the next falls due; those that are due already wait for room."""
        taps = (tap for taps in self._by_stream.values() for tap in taps)
        return min((tap.next_claim for tap in taps if tap.next_claim > now), default=float("inf"))


class Hands:
    """Calls in hand, by source and row, counted by what they fill."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, int], Call] = {}
        self._begun: Counter[str] = Counter()
        self._all: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._calls)

    def calls(self) -> list[Call]:
        return list(self._calls.values())

    def claims(self, source: Source) -> list[tuple[int, int]]:
        return [call.item.claim for (name, _), call in self._calls.items() if name == source.name]

    def holds(self, place: tuple[str, int]) -> bool:
        return place in self._calls

    def take(self, source: Source, call: Call) -> None:
        self._calls[source.name, call.item.id] = call
        self._all[_pot(call.item.stream)] += 1

    def begin(self, call: Call) -> None:
        call.waits = False
        self._begun[_pot(call.item.stream)] += 1

    def drop(self, source: Source, call: Call) -> None:
        key = source.name, call.item.id
        # After a lost lease the same row may be in hand again, as another attempt.
        if self._calls.get(key) is call:
            del self._calls[key]
        pot = _pot(call.item.stream)
        self._all[pot] -= 1
        if not call.waits:
            self._begun[pot] -= 1

    def begun(self, stream: str) -> int:
        return self._begun[_pot(stream)]

    def all(self, stream: str) -> int:
        return self._all[_pot(stream)]


@lru_cache(maxsize=1024)
def _pot(stream: str) -> str:
    """A destination's stream has its own; the others of a queue share one."""
    return stream if stream.count("/") > 1 else queue_of(stream)
