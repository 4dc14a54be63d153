"""Drawing from a tap: lanes in turn, rows without order, rows whose keys are counted."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from sqlalchemy import Connection

from todoke.database import Database
from todoke.work.item import Item
from todoke.work.key_claim import Catch
from todoke.work.lanes import Lanes
from todoke.work.mark import BEGINNING, Place
from todoke.work.stream import Pace, Tap

_LOOKS = 5
"""How often one draw looks for rows, where it finds none that it may take."""
_FAR = 1000
"""How many rows it looks at after some of full keys were in the way."""
_IN_MOTION = 0.01
"""Seconds until a key is looked at again whose slots another process was just changing."""


class Draw:
    """Takes rows from taps, and notes in each how it goes on."""

    def __init__(self, lanes: Lanes, database: Database, pace: Pace) -> None:
        self._lanes, self._database, self._pace = lanes, database, pace
        self._clock = database.clock

    def take(self, connection: Connection, owner: UUID, tap: Tap, room: int) -> list[Item]:
        if tap.ordered:
            return self._take_ordered(connection, owner, tap, room)
        others = self._take_less_urgent(connection, owner, tap, room)
        return others or self._take_most_urgent(connection, owner, tap, room)

    # --- without order -----------------------------------------------------------------------

    def _take_most_urgent(
        self, connection: Connection, owner: UUID, tap: Tap, room: int
    ) -> list[Item]:
        marks = self._database.begins_anywhere
        for _ in range(_LOOKS):
            began = self._clock.monotonic()
            start = tap.mark.start(began) if marks else BEGINNING
            catch = self._catch(connection, owner, tap, room, start)
            ended, full = self._clock.monotonic(), catch.has_more
            tap.levels.note(catch.items, full=full)
            passed = () if catch.left else catch.items
            is_dry = tap.mark.note(passed, began, ended, full=full) if marks else not full
            if is_dry:
                tap.run_dry(ended, self._pace)
            if catch.items or is_dry:
                return catch.items
            if catch.is_stuck:
                tap.set_aside(ended + _IN_MOTION)
                return []
        return []

    def _take_less_urgent(
        self, connection: Connection, owner: UUID, tap: Tap, room: int
    ) -> list[Item]:
        now = self._clock.monotonic()
        while (start := tap.levels.start(now)) is not None:
            catch = self._catch(connection, owner, tap, room, start)
            if catch.held and not catch.items:
                return []  # still their turn: only rows of full keys were in the way
            tap.levels.note_others(catch.items, now)
            if catch.items:
                return catch.items
        return []

    def _catch(
        self, connection: Connection, owner: UUID, tap: Tap, room: int, start: Place
    ) -> Catch:
        source, by_key = tap.source, tap.source.counting(tap.stream)
        if by_key is None or source.keys is None:
            items = source.claims.take(connection, owner, tap.stream, room, start)
            return Catch(items, met=len(items), look=room)
        look = max(room, _FAR) if tap.crowded else room
        catch = by_key.take(connection, owner, tap.stream, room, look, start)
        source.keys.take(owner, catch.items)
        tap.crowded = catch.held > 0
        return catch

    # --- in order ----------------------------------------------------------------------------

    def _take_ordered(self, connection: Connection, owner: UUID, tap: Tap, room: int) -> list[Item]:
        share = self._lanes.of(tap.stream)
        crowded = tap.source.strands.runs.crowded(tap.stream)
        free = [lane for lane in share.open() if lane not in crowded]
        if tap.next_claim > self._clock.monotonic():
            items = self._take_rung(connection, owner, tap, free, room)
            if crowded or len(items) == room:
                tap.next_claim = 0.0
            return items
        tap.rung.clear()
        lanes = tap.next_lanes(free, self._database.lanes_at_once)
        if not lanes:
            if not crowded:
                tap.run_dry(self._clock.monotonic(), self._pace)
            return []
        # Little from each of many lanes: neighbours in a lane are more often of one strand.
        each = -(-room // (tap.yielding or len(lanes)))
        claims = tap.source.claims
        items = claims.take_ordered(connection, owner, tap.stream, lanes, each, room)
        self._note_yield(tap, items, lanes, each, room, len(free))
        # Crowded lanes are looked at again as soon as an answer makes room there.
        if crowded:
            tap.next_claim = 0.0
        return items

    def _take_rung(
        self, connection: Connection, owner: UUID, tap: Tap, free: list[int], room: int
    ) -> list[Item]:
        """Only from lanes that were rung for, as far as they are ours."""
        lanes = [lane for lane in free if lane in tap.rung]
        take = tap.source.claims.take_ordered
        items = take(connection, owner, tap.stream, lanes, room, room) if lanes else []
        tap.rung.clear()
        return items

    def _note_yield(
        self, tap: Tap, items: list[Item], lanes: list[int], each: int, room: int, free: int
    ) -> None:
        found = Counter(item.lane for item in items)
        tap.yielding = len(found)
        if len(items) >= room:
            tap.served(lanes, found)
        if len(items) >= room or any(count >= each for count in found.values()):
            tap.dry_lanes = 0
            return
        tap.dry_lanes += len(lanes)
        if tap.dry_lanes >= free:
            tap.run_dry(self._clock.monotonic(), self._pace)
