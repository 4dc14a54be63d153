"""Claiming: which streams, how many rows of each, and from which lanes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from uuid import UUID

from sqlalchemy import Connection

from todoke.bell import EVERYWHERE, SOMEBODY
from todoke.database import Database
from todoke.hint import parts_of
from todoke.work.claim import Suspects
from todoke.work.destination import Destination, Outlet
from todoke.work.draw import Draw
from todoke.work.item import SUSPECT, Item
from todoke.work.lanes import Lanes
from todoke.work.strand import queue_of
from todoke.work.stream import DestinationOf, Hands, Pace, Source, Tap, Taps

_LOOK_AROUND = 5.0
_AT_ONCE = float("-inf")

Claimed = tuple[Source, list[Item]]


class Intake:
    """Takes work in, as much as there is room for."""

    def __init__(
        self,
        sources: Sequence[Source],
        lanes: Lanes,
        hands: Hands,
        database: Database,
        pace: Pace,
        *,
        streams: Iterable[str],
        serves: Callable[[str], bool],
        destination_of: DestinationOf,
        on_lanes: Callable[[], None],
        paused: Callable[[str, str], bool] = lambda _source, _stream: False,
    ) -> None:
        self._sources, self._lanes, self._hands = sources, lanes, hands
        self._database, self._clock, self._pace = database, database.clock, pace
        self._serves, self._on_lanes, self._paused = serves, on_lanes, paused
        self._draw = Draw(lanes, database, pace)
        self._suspects = Suspects([source.settling.table for source in sources])
        self._with_suspects: list[tuple[Source, str]] = []
        self._destination_of, self._taps = destination_of, Taps(sources, destination_of)
        for stream in streams:
            self._taps.add(stream)
        self._next_balance = self._next_look_around = self._next_suspect_search = _AT_ONCE
        self._rings: deque[frozenset[str]] = deque()
        self._was_rung = False
        self.seconds_each: float = 1.0
        self.unsure_of: UUID | None = None
        """Whose claim got no answer: it may have taken rows that nobody here knows of."""
        self.probes: set[tuple[str, int]] = set()
        """Rows that try a resting destination."""

    @property
    def batch(self) -> int:
        return self._pace.batch

    @property
    def places(self) -> list[tuple[str, str]]:
        """Source and stream of all that is claimed from."""
        return [(source.name, one) for source in self._sources for one in self._taps.streams]

    def wake(self, hints: Iterable[str] = ()) -> None:
        """From any thread: look at the next tick, into these streams or into all."""
        self._rings.append(frozenset(hints))

    def hear(self, connection: Connection) -> None:
        """Take note of what was rung since the last tick, before anything is claimed."""
        rings = [self._rings.popleft() for _ in range(len(self._rings))]
        if SOMEBODY in rings:
            # A busy worker commits all the time: it would wake itself, to look everywhere.
            others = [EVERYWHERE] if self._database.others_committed(connection) else []
            rings = [hints for hints in rings if hints != SOMEBODY] + others
        self._was_rung = bool(rings) and all(rings)
        for hints in rings:
            if any(self._is_news(parts_of(hint)[-1]) for hint in hints):
                self.look_around()
            self._taps.wake(hints)
            if not hints:
                self._next_suspect_search = _AT_ONCE

    def wake_for(self, destinations: Collection[Destination]) -> None:
        """These may have room again: look wherever they are waited for."""
        if destinations:
            self._taps.wake_for(destinations)

    def free_keys(self, connection: Connection) -> None:
        """Free the slots of keys that are no longer in hand, and look where others may go on."""
        for source in self._sources:
            if source.keys is not None:
                for row in source.keys.free(connection):
                    self._taps.came_back(source, row)

    def look_around(self) -> None:
        """Look for streams nobody told of, at the next tick."""
        self._next_look_around = self._next_balance = _AT_ONCE

    def prepare(self, connection: Connection, owner: UUID) -> None:
        """Know the streams there are, and have a share of their lanes."""
        now = self._clock.monotonic()
        if self._is_time(self._next_look_around):
            self._next_look_around = now + _LOOK_AROUND
            self._find_streams(connection)
        if self._is_time(self._next_balance) or owner != self._lanes.owner:
            self._next_balance = now + self._pace.poll
            streams = self._taps.streams
            for stream in self._lanes.tick(connection, owner, streams, self._is_busy):
                self._on_lanes()
                self._taps.wake_stream(stream)

    def claim(self, connection: Connection, owner: UUID) -> Iterator[Claimed]:
        """A batch of each stream that is due."""
        for tap in self._with_rows(connection, self._taps.due(self._clock.monotonic())):
            room = self._room(tap)
            if self._paused(tap.source.name, tap.stream):
                tap.set_aside(self._clock.monotonic() + self._pace.poll)
            elif room > 0:
                items = self._claim(connection, owner, tap, room)
                tap.has_yielded(bool(items))
                if items:
                    yield tap.source, items

    def wants_suspect(self, connection: Connection) -> bool:
        """Some row waits to be run alone, and there is room for it where it goes."""
        if self._is_time(self._next_suspect_search):
            self._next_suspect_search = self._clock.monotonic() + self._pace.poll
            waits = self._suspects.wait(connection)
            self._with_suspects = self._find_suspects(connection) if waits else []
        return bool(self._with_suspects)

    def claim_suspect(self, connection: Connection, owner: UUID) -> Claimed | None:
        places, self._with_suspects = self._with_suspects, []
        for source, stream in places:
            items = self._take_suspect(connection, owner, source, stream)
            if items:
                self._next_suspect_search = _AT_ONCE
                return source, items
        return None

    def rest(self) -> float:
        """How long nothing is due; what is due and was not claimed waits for room."""
        if any(self._room(tap) > 0 for tap in self._taps.half_way()):
            return 0.0
        now = self._clock.monotonic()
        due = [self._next_suspect_search, self._next_balance, self._taps.next_claim(now)]
        return min([self._pace.poll, *(moment - now for moment in due if moment > now)])

    def _is_time(self, moment: float) -> bool:
        """What is done regularly lets the claim that was rung for go first; but not for ever."""
        patience = self._pace.poll if self._was_rung else 0.0
        return self._clock.monotonic() >= moment + patience

    # --- rooms -------------------------------------------------------------------------------

    def _room(self, tap: Tap) -> int:
        """Free slots, and as many more as will be done within the time we may look ahead."""
        pace, begun = self._pace, self._hands.begun(tap.stream)
        at_once = pace.queues.get(queue_of(tap.stream), 1)
        ahead = int(at_once * pace.prefetch_seconds / max(self.seconds_each, 1e-6))
        most = 2 * pace.batch if pace.overlaps else pace.batch
        wanted = min(most, max(at_once, ahead))
        room = min(wanted - begun, pace.batch, 4 * pace.batch - self._hands.all(tap.stream))
        # While there is plenty in hand, many rows in one claim are better than few in many.
        return room if begun < at_once or room * 2 >= min(wanted, pace.batch) else 0

    def _is_busy(self, stream: str, lane: int) -> bool:
        return self.unsure_of is not None or any(
            source.strands.runs.is_busy(stream, lane) for source in self._sources
        )

    @contextmanager
    def _unsure(self, owner: UUID) -> Iterator[None]:
        """Should the reply be lost, so may be what was taken; an error that came took nothing."""
        self.unsure_of = owner
        try:
            yield
        except Exception as error:
            if self._database.passes(error):
                self.unsure_of = None
            raise
        self.unsure_of = None

    # --- claims ------------------------------------------------------------------------------

    def _find_streams(self, connection: Connection) -> None:
        for source in self._sources:
            for stream in source.claims.streams(connection):
                self._add(stream)

    def _find_suspects(self, connection: Connection) -> list[tuple[Source, str]]:
        return [
            (source, stream)
            for source in self._sources
            for stream in source.claims.streams(connection, SUSPECT)
            if self._serves(stream) and self._may_run(connection, source, stream)
        ]

    def _may_run(self, connection: Connection, source: Source, stream: str) -> bool:
        """There may be room for a suspect of this stream: else all hands would wait for it."""
        destination = self._destination_of(source.name, stream)
        if self._paused(source.name, stream) or (destination and destination.next_look() > 0):
            return False
        return source.suspect_has_room(connection, stream)

    def _is_news(self, stream: str) -> bool:
        """Looked for, not believed: whoever may use the channel may name streams there."""
        return self._serves(stream) and stream not in self._taps

    def _add(self, stream: str) -> None:
        if self._serves(stream):
            self._taps.add(stream)

    def _with_rows(self, connection: Connection, due: list[Tap]) -> list[Tap]:
        """Without those whose stream is empty, where a look costs less than to claim from them."""
        cold = [tap for tap in due if not tap.yields]
        if len(cold) < 2:
            return due
        empty = set[Tap]()
        for source in {tap.source for tap in cold}:
            empty |= self._empty(connection, [tap for tap in cold if tap.source is source])
        for tap in empty:
            tap.run_dry(self._clock.monotonic(), self._pace)
        return [tap for tap in due if tap not in empty]

    def _empty(self, connection: Connection, taps: list[Tap]) -> set[Tap]:
        """Those of one source that nothing waits in, as far as few steps through its table tell."""
        claims, most = taps[0].source.claims, len({tap.stream for tap in taps})
        # Others may have rows in any number of streams: more than we ask for is not looked at.
        waiting = claims.streams(connection, at_most=most + 1)
        if len(waiting) > most:
            return set()
        return {tap for tap in taps if tap.stream not in waiting}

    def _claim(self, connection: Connection, owner: UUID, tap: Tap, room: int) -> list[Item]:
        if tap.destination is None:
            return self._take(connection, owner, tap, room)
        return self._claim_for(tap.destination, connection, owner, tap, room)

    def _claim_for(
        self,
        destination: Outlet,
        connection: Connection,
        owner: UUID,
        tap: Tap,
        wanted: int,
    ) -> list[Item]:
        """No more than the destination has room for."""
        if destination.next_look() > 0:
            self._wait(tap, destination)
            return []
        if not tap.source.claims.any_wait(connection, tap.stream):
            tap.run_dry(self._clock.monotonic(), self._pace)
            return []

        def take(room: int) -> list[Item]:
            return self._take(connection, owner, tap, room)

        items = self._within(destination, connection, owner, tap.source, wanted, take)
        if items is None:
            self._wait(tap, destination)
        return items or []

    def _within(
        self,
        destination: Outlet,
        connection: Connection,
        owner: UUID,
        source: Source,
        wanted: int,
        take: Callable[[int], list[Item]],
    ) -> list[Item] | None:
        """Ask for room, take as much, give back what was too much; None when there is no room."""
        with self._unsure(owner), connection.begin():
            room = destination.room(connection, owner, wanted)
        if room.granted == 0:
            return None
        try:
            items = take(room.granted)
            if len(items) < room.granted:
                with connection.begin():
                    destination.return_unused(connection, owner, room, len(items))
        except Exception:
            self.unsure_of = owner  # of the room, even where no rows were taken
            raise
        if room.probe:
            self.probes |= {(source.name, item.id) for item in items}
        return items

    def _wait(self, tap: Tap, destination: Outlet) -> None:
        tap.set_aside(self._clock.monotonic() + max(0.01, destination.next_look()))

    def _take(self, connection: Connection, owner: UUID, tap: Tap, room: int) -> list[Item]:
        with self._unsure(owner):
            return self._draw.take(connection, owner, tap, room)

    def _take_suspect(
        self, connection: Connection, owner: UUID, source: Source, stream: str
    ) -> list[Item]:
        def take(_room: int) -> list[Item]:
            with self._unsure(owner):
                return source.take_suspect(connection, owner, stream)

        destination = self._destination_of(source.name, stream)
        if destination is None:
            return take(1)
        return self._within(destination, connection, owner, source, 1, take) or []
