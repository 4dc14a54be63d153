"""Where a worker claims from, and how much it has in hand of each stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol
from uuid import UUID

from todoke.hint import FREE, parts_of
from todoke.work.call import Call
from todoke.work.claim import Claims
from todoke.work.destination import Destination
from todoke.work.item import Item
from todoke.work.mark import Mark
from todoke.work.settle import Settling
from todoke.work.settlement import Settlement
from todoke.work.strand import queue_of
from todoke.work.strands import Strands


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

    def __post_init__(self) -> None:
        self.name: str = self.settling.table.source


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
    destination: Destination | None = None
    next_claim: float = 0.0
    pause: float = 0.0
    yielding: int = 0
    dry_lanes: int = 0
    turn: int = 0
    mark: Mark = field(default_factory=Mark)
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
        self.next_claim = now + self.pause
        self.yielding = self.dry_lanes = 0

    def has_yielded(self) -> None:
        self.pause = 0.0


class Taps:
    """All that this process claims from; streams that turn up later are added."""

    def __init__(
        self, sources: Iterable[Source], destination_of: Callable[[str], Destination | None]
    ) -> None:
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
            destination = self._destination_of(stream)
            self._by_stream[stream] = [
                Tap(source, stream, ordered, destination)
                for source in self._sources
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

    def half_way(self) -> list[Tap]:
        """Those whose lanes have not all had their turn yet."""
        return [tap for taps in self._by_stream.values() for tap in taps if tap.dry_lanes]

    def next_claim(self) -> float:
        return min(
            (tap.next_claim for taps in self._by_stream.values() for tap in taps),
            default=float("inf"),
        )


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

    def ids(self, source: Source) -> list[int]:
        return [row for name, row in self._calls if name == source.name]

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
