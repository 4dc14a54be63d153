"""Destinations: what handlers call outside, and how much of it may be called now.

Back-pressure is in the claim: nothing is taken from a destination's stream that it has no room
for. Slots, tokens and the open breaker are in the database and so hold over all processes;
failures in a row are counted by each process for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from uuid import UUID

from sqlalchemy import Connection, Table

from todoke.clock import Clock
from todoke.database import Database
from todoke.errors import ErrorClass
from todoke.limits import Bounds
from todoke.telemetry import log
from todoke.work.destination_table import (
    DestinationRecord,
    DestinationRows,
    DestinationTables,
    SlotRows,
    State,
    read_status,
)

COUNTED: frozenset[ErrorClass] = frozenset({"transient", "timeout"})
"""Only these speak of the destination; the others speak of the message."""

POLL = 1.0
"""Another process may free a slot or close the breaker at any time, and tells nobody."""

_BUSY = 0.01
_FINEST = 0.001


@dataclass(frozen=True, slots=True)
class Room:
    """How many calls may begin; a probe is the one call that tries a resting destination."""

    granted: int
    probe: bool = False


class Destinations:
    """The destinations of one process, by name."""

    def __init__(self, tables: DestinationTables, workers: Table, database: Database) -> None:
        self._tables, self._clock = tables, database.clock
        self._rows = DestinationRows(tables.destinations, database)
        self._slots = SlotRows(tables.slots, workers, database)

    def destination(self, bounds: Bounds) -> Destination:
        return Destination(bounds, self._rows, self._slots, self._clock)

    def free(self, connection: Connection, owner: UUID) -> int:
        """Free all slots of a process that is no more; in the transaction that deregisters it."""
        return self._slots.free(connection, owner)

    def status(self, connection: Connection) -> list[DestinationRecord]:
        """All destinations that were ever asked for room, of any process."""
        return read_status(connection, self._tables)


class Destination:
    """One destination, as one process sees it. Used by the worker's thread; others read `is_open`.

    Every probe that was granted ends in `succeeded`, `failed` or `return_probe`.
    """

    def __init__(self, bounds: Bounds, rows: DestinationRows, slots: SlotRows, clock: Clock):
        self.bounds: Bounds = bounds
        self.name: str = bounds.destination
        self._rows, self._slots, self._clock = rows, slots, clock
        self.is_open: bool = False
        """Calls that have not begun are to be handed back; never true for this process's probe."""
        self._known_open = False
        self._probing = False
        self._failures = 0
        self._ask_at = 0.0
        self._short_of_slots = False

    @property
    def parts(self) -> tuple[Destination, ...]:
        return (self,)

    # --- room --------------------------------------------------------------------------------

    def room(self, connection: Connection, owner: UUID, wanted: int) -> Room:
        """Take room for up to so many calls, with the caller's commit."""
        if not (self.bounds.limit or self.bounds.rate or self.bounds.breaker):
            return Room(wanted)
        state = self._look(connection)
        if state is None:
            return self._refuse(_BUSY)
        if self._rests(state):
            return self._refuse(POLL)
        probe = self._known_open
        tokens = self._tokens(state)
        allowed = int(min(wanted, 1 if probe else wanted, tokens))
        granted = self._take_slots(connection, owner, allowed)
        if granted and self.bounds.rate is not None:
            tokens -= granted
            self._fill(connection, state, tokens)
        if granted and probe:
            self._begin_probe(connection)
        self._plan(wanted, allowed, granted, tokens)
        return Room(granted, probe=bool(granted and probe))

    def next_look(self) -> float:
        """Seconds until asking for room again makes sense."""
        return max(0.0, self._ask_at - self._clock.monotonic())

    def give_back(self, connection: Connection, owner: UUID, slots: int) -> None:
        """Free so many of the owner's slots: calls ended, or never began."""
        if self.bounds.limit is None or slots <= 0:
            return
        self._slots.give_back(connection, self.name, owner, slots)
        if self._short_of_slots:
            self._ask_at = 0.0

    def trim(self, connection: Connection, owner: UUID, keep: int) -> None:
        """Free the owner's slots but so many: it has no more calls in hand."""
        if self.bounds.limit is not None:
            self._slots.trim(connection, self.name, owner, keep)

    def return_tokens(self, connection: Connection, tokens: int) -> None:
        """Give back what was granted by the rate, for calls that never began."""
        if self.bounds.rate is not None and tokens > 0:
            full = self.bounds.rate.count
            self._rows.return_tokens(connection, self.name, tokens, full)

    def return_probe(self, connection: Connection) -> None:
        """The probe told nothing: whoever asks next may try."""
        if self._probing:
            self._rows.end_rest(connection, self.name)
            self._end_probe()
            self._ask_at = 0.0

    def return_unused(self, connection: Connection, owner: UUID, room: Room, used: int) -> None:
        """Give back all of this room but what was used: the claim found less than was granted."""
        self.give_back(connection, owner, room.granted - used)
        self.return_tokens(connection, room.granted - used)
        if used < room.granted:
            self._ask_at = 0.0
        if room.probe and not used:
            self.return_probe(connection)

    def _look(self, connection: Connection) -> State | None:
        """The present state, locked where it will be written; None while another writes it."""
        state = self._rows.read(connection, self.name)
        self._note(state)
        if self.bounds.rate is None and (not self._known_open or self._rests(state)):
            return state
        locked = self._rows.lock(connection, self.name)
        if locked is not None:
            self._note(locked)
        return locked

    def _note(self, state: State) -> None:
        """Another process may have opened or closed the breaker."""
        is_open = self.bounds.breaker is not None and state.open_until is not None
        if self._known_open and not is_open:
            self._failures, self._probing = 0, False
        self._known_open = is_open
        self.is_open = is_open and not self._probing

    def _rests(self, state: State) -> bool:
        return self._known_open and state.open_until is not None and state.open_until > state.now

    def _take_slots(self, connection: Connection, owner: UUID, wanted: int) -> int:
        if self.bounds.limit is None or wanted <= 0:
            return max(0, wanted)
        at_once = self.bounds.limit.at_once
        return self._slots.take(connection, self.name, owner, at_once, min(wanted, at_once))

    def _refuse(self, seconds: float) -> Room:
        self._short_of_slots = False
        self._ask_at = self._clock.monotonic() + seconds
        return Room(0)

    def _plan(self, wanted: int, allowed: int, granted: int, tokens: float) -> None:
        self._short_of_slots = granted < allowed
        wait = 0.0
        if self._short_of_slots or self._known_open:
            wait = POLL
        elif granted < wanted:
            wait = self._until_next_token(tokens)
        self._ask_at = self._clock.monotonic() + wait

    # --- the rate: a bucket of tokens --------------------------------------------------------

    def _tokens(self, state: State) -> float:
        """What is in the bucket by now: it fills evenly, up to the rate's count."""
        rate, filled_at = self.bounds.rate, self._filled_at(state)
        if rate is None:
            return math.inf
        if state.tokens is None or filled_at is None:
            return float(rate.count)
        elapsed = max(0.0, (state.now - filled_at).total_seconds())
        return min(rate.count, state.tokens + elapsed * rate.count / rate.within.total_seconds())

    def _filled_at(self, state: State) -> datetime | None:
        """When the bucket was last filled; None for never, or by a clock that was set back since.

        It may lie a little ahead: some databases tell the time at which a statement began to wait.
        """
        rate, filled_at = self.bounds.rate, state.refilled_at
        if rate is None or filled_at is None or filled_at - rate.within > state.now:
            return None
        return filled_at

    def _fill(self, connection: Connection, state: State, tokens: float) -> None:
        at = max(state.now, self._filled_at(state) or state.now)
        self._rows.fill(connection, self.name, tokens, at)

    def _until_next_token(self, tokens: float) -> float:
        rate = self.bounds.rate
        if rate is None:
            return 0.0
        missing = (1 - tokens) * rate.within.total_seconds() / rate.count
        # Rounded up to what every database can tell: asking too early would be in vain.
        return math.ceil(missing / _FINEST) * _FINEST

    # --- the breaker -------------------------------------------------------------------------

    def succeeded(self) -> bool:
        """Note a call that went well; True when `close` is to be written now."""
        self._failures = 0
        was_probe = self._probing
        self._end_probe()
        return was_probe

    def failed(self, error_class: ErrorClass) -> bool:
        """Note a call that failed; True when `open` is to be written now."""
        breaker, was_probe = self.bounds.breaker, self._probing
        self._end_probe()
        if breaker is None or error_class not in COUNTED:
            return False
        self._failures += 1
        enough = self._failures >= breaker.failures
        opens = was_probe or (enough and not self._known_open)
        self.is_open = self.is_open or opens
        return opens

    def open(self, connection: Connection) -> None:
        """Let the destination rest; where it is resting already, only a failed probe prolongs."""
        if self.bounds.breaker is None:
            return
        rest = self.bounds.breaker.rest.total_seconds()
        if self._known_open:
            if self._rows.prolong(connection, self.name, rest):
                log.info("destination %s still fails: rests another %g s", self.name, rest)
        elif self._rows.open(connection, self.name, rest):
            log.warning(
                "destination %s failed %d times in a row: nothing is claimed for it for %g s, "
                "then one call tries it",
                self.name,
                self._failures,
                rest,
            )
        self._known_open = self.is_open = True
        self._refuse(POLL)

    def close(self, connection: Connection) -> None:
        """The destination answers again."""
        if self._rows.close(connection, self.name):
            log.info("destination %s answers again: its work is claimed again", self.name)
        self._known_open = self.is_open = False
        self._failures, self._ask_at = 0, 0.0

    def _begin_probe(self, connection: Connection) -> None:
        """Everybody else rests on; if this process dies, another tries after that."""
        breaker = self.bounds.breaker
        if breaker is not None:
            self._rows.prolong(connection, self.name, breaker.rest.total_seconds())
            self._probing, self.is_open = True, False

    def _end_probe(self) -> None:
        if self._probing:
            self._probing, self.is_open = False, self._known_open


class Within:
    """Room in two places at once: a job's own, inside that of its queue."""

    def __init__(self, own: Destination, around: Destination) -> None:
        self._own, self._around = own, around

    @property
    def parts(self) -> tuple[Destination, ...]:
        """Each is told by itself how calls went, and given back its room."""
        return self._own, self._around

    def room(self, connection: Connection, owner: UUID, wanted: int) -> Room:
        """As much as both have; what one has beyond that is given back at once."""
        own = self._own.room(connection, owner, wanted)
        if own.granted == 0:
            return own
        granted = self._around.room(connection, owner, own.granted).granted
        if granted < own.granted:
            self._own.return_unused(connection, owner, own, granted)
        return Room(granted, probe=own.probe and granted > 0)

    def next_look(self) -> float:
        return max(part.next_look() for part in self.parts)

    def return_unused(self, connection: Connection, owner: UUID, room: Room, used: int) -> None:
        self._own.return_unused(connection, owner, room, used)
        self._around.return_unused(connection, owner, Room(room.granted), used)


Outlet: TypeAlias = Destination | Within
"""Where the calls of a stream go, as far as that is bound."""


def within(own: Destination | None, around: Destination | None) -> Outlet | None:
    """Both, or the one that there is."""
    return Within(own, around) if own is not None and around is not None else own or around
