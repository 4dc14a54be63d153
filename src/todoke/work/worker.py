"""The worker's tick: settle what was answered, claim what there is room for, start it.

One tick never waits for a handler, so a slow one delays no neighbour. A suspect (a row that was
in a process when it died) runs only while nothing else is in this process's hands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from sqlalchemy import Connection

from todoke import crash
from todoke.database import Database
from todoke.telemetry import Counts, log
from todoke.work.claim import Claims, Suspects
from todoke.work.conclude import Conclusions, describe, outcome_unknown
from todoke.work.item import Item
from todoke.work.perform import Answer, Call, Fenced, InOwnTransaction
from todoke.work.settle import Dead, HandedBack, Settled, Settlement, Settling
from todoke.work.slots import Slots


class Router(Protocol):
    """Decides where a claimed message goes: to a handler, or straight to a settlement."""

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement: ...


@dataclass(eq=False)
class Source:
    """A table that work comes from."""

    claims: Claims
    settling: Settling
    router: Router
    next_claim: float = 0.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How much and how often to claim."""

    batch: int
    poll: float
    queues: Mapping[str, int]
    prefetch_seconds: float = 1.0


class Worker:
    """Claims work, lets handlers run in slots, and settles what they answered."""

    def __init__(
        self,
        sources: Sequence[Source],
        slots: Slots,
        database: Database,
        owner: Callable[[], UUID | None],
        conclusions: Conclusions,
        pace: Pace,
        counts: Counts,
    ) -> None:
        self._sources, self._slots, self._database = sources, slots, database
        self._suspects = Suspects([source.settling.table for source in sources])
        self._owner, self._pace, self._counts = owner, pace, counts
        self._conclusions = conclusions
        self._clock = database.clock
        self._in_hand: dict[tuple[int, int], Call] = {}
        self._unsettled: defaultdict[tuple[Source, UUID], list[Settlement]] = defaultdict(list)
        self._next_suspect_search = 0.0
        self._alone_next = False
        self._lonely: tuple[int, int] | None = None
        self._unsure_of: UUID | None = None
        self._seconds_each = 1.0
        self.stopping = False
        self.hung = 0

    def tick(self, connection: Connection) -> float:
        """One round; answers how long to rest unless woken."""
        self._collect()
        if self.stopping:
            self._return(self._slots.withdraw())
        self._give_up_hung(connection)
        self._settle(connection)
        owner = self._owner()
        if self.stopping or owner is None:
            return self._pace.poll
        self._free_strays(connection)
        found = self._claim_round(connection, owner)
        self._settle(connection)
        return 0.0 if found else self._rest()

    @property
    def idle(self) -> bool:
        """Nothing in hand and nothing left to write."""
        return not self._in_hand and not self._unsettled

    def wake(self) -> None:
        """Something may be due: claim at the next tick."""
        for source in self._sources:
            source.next_claim = 0.0
        self._next_suspect_search = 0.0

    def hand_back(self, connection: Connection) -> None:
        """Give back what is in hand, its attempt not counted: the process is about to end."""
        crash.point("shutdown.before_hand_back")
        self._collect()
        for call in self._in_hand.values():
            self._break_off(connection, call)
        self._return(list(self._in_hand.values()))
        self._settle(connection)

    def close(self) -> None:
        """Let go of the threads that wait for calls."""
        self._slots.close()

    def _return(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._drop(call)
            self._leave(call, _returned(call))

    # --- claiming ----------------------------------------------------------------------------

    def _claim_round(self, connection: Connection, owner: UUID) -> bool:
        if self._lonely in self._in_hand:
            return False
        # After a suspect comes an ordinary round: suspects must not starve the others.
        found, self._lonely = self._lonely is not None, None
        if not found and self._wants_suspect(connection):
            if self._in_hand:
                return False
            if self._claim_suspect(connection, owner):
                return True
        for source in self._sources:
            if self._clock.monotonic() >= source.next_claim:
                found |= self._claim(connection, source, owner)
        return found

    def _claim(self, connection: Connection, source: Source, owner: UUID) -> bool:
        found, dry = False, True
        for queue, at_once in self._pace.queues.items():
            room = self._room(queue, at_once)
            if room <= 0:
                dry = False  # nobody looked, so there may be more
                continue
            self._unsure_of = owner
            items = source.claims.take(connection, owner, queue, room)
            self._unsure_of = None
            self._begin(source, items, owner)
            found |= bool(items)
            dry &= len(items) < room
        if dry:
            source.next_claim = self._clock.monotonic() + self._pace.poll
        return found

    def _free_strays(self, connection: Connection) -> None:
        """A claim whose reply was lost may have taken rows that nobody here knows of."""
        if self._unsure_of is None:
            return
        for source in self._sources:
            known = [item_id for of, item_id in self._in_hand if of == id(source)]
            known += [
                one.item.id
                for (of, _), group in self._unsettled.items()
                for one in group
                if of is source
            ]
            freed = source.claims.free_strays(connection, self._unsure_of, known)
            self._counts["handed_back"] += freed
        self._unsure_of = None

    def _room(self, queue: str, at_once: int) -> int:
        """Free slots, and as many more as will be done within the time we may look ahead."""
        ahead = int(at_once * self._pace.prefetch_seconds / max(self._seconds_each, 1e-6))
        wanted = min(self._pace.batch, max(at_once, ahead))
        return wanted - sum(1 for call in self._in_hand.values() if call.item.queue == queue)

    def _wants_suspect(self, connection: Connection) -> bool:
        now = self._clock.monotonic()
        if now >= self._next_suspect_search:
            self._alone_next = self._suspects.wait(connection)
            self._next_suspect_search = now + self._pace.poll
        return self._alone_next

    def _claim_suspect(self, connection: Connection, owner: UUID) -> bool:
        self._alone_next = False
        for source in self._sources:
            for queue in self._pace.queues:
                self._unsure_of = owner
                items = source.claims.take_suspect(connection, owner, queue)
                self._unsure_of = None
                if items:
                    self._next_suspect_search = 0.0
                    self._lonely = (id(source), items[0].id)
                    self._begin(source, items, owner)
                    return True
        return False

    def _begin(self, source: Source, items: Sequence[Item], owner: UUID) -> None:
        self._counts["claimed"] += len(items)
        calls = []
        for item in items:
            match self._prepare(source, item, owner):
                case Call() as call:
                    self._in_hand[id(source), item.id] = call
                    calls.append(call)
                case settlement:
                    self._unsettled[source, owner].append(settlement)
        if calls:
            self._slots.start(calls)

    def _prepare(self, source: Source, item: Item, owner: UUID) -> Call | Settlement:
        try:
            return source.router.prepare(item, owner)
        except Exception as error:
            log.exception("message %s could not be prepared", item.message_id)
            return Dead(item, describe(error, "permanent"))

    # --- settling ----------------------------------------------------------------------------

    def _collect(self) -> None:
        for call, answer in self._slots.finished():
            if not call.given_up:
                self._drop(call)
                self._accept(call, answer)

    def _accept(self, call: Call, answer: Answer) -> None:
        self._note_speed(call)
        match answer:
            case InOwnTransaction():
                self._counts["processed"] += 1
            case Fenced(item):
                self._report_fenced([item])
            case settlement:
                self._leave(call, settlement)

    def _leave(self, call: Call, settlement: Settlement) -> None:
        self._unsettled[self._source_of(call), call.owner].append(settlement)

    def _settle(self, connection: Connection) -> None:
        for (source, owner), group in list(self._unsettled.items()):
            self._settle_group(connection, source, owner, group)
            # Only now: what could not be written because the database is away is written later.
            del self._unsettled[source, owner]

    def _settle_group(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> None:
        try:
            self._write(connection, source, owner, group)
        except Exception as error:
            if self._database.is_lost(error) or self._database.passes(error):
                raise
            self._settle_one_by_one(connection, source, owner, group)

    def _settle_one_by_one(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> None:
        """One of them cannot be written; it must not keep the others."""
        for settlement in group:
            try:
                self._write(connection, source, owner, [settlement])
            except Exception as error:
                if self._database.is_lost(error) or self._database.passes(error):
                    raise
                log.exception("message %s could not be settled", settlement.item.message_id)
                instead = Dead(settlement.item, describe(error, "permanent"))
                self._write(connection, source, owner, [instead])

    def _write(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> None:
        with connection.begin():
            settled = source.settling.settle(connection, owner, group)
            crash.point("settle.before_commit")
        crash.point("settle.after_commit")
        self._count(settled)
        if any(getattr(settlement, "then", None) is not None for settlement in group):
            self.wake()

    def _count(self, settled: Settled) -> None:
        self._counts["processed"] += settled.processed
        self._counts["later"] += settled.later
        self._counts["dead"] += settled.dead
        self._counts["handed_back"] += settled.handed_back
        self._report_fenced(settled.fenced)

    def _report_fenced(self, items: Sequence[Item]) -> None:
        self._counts["fenced"] += len(items)
        for item in items:
            log.warning(
                "message %s attempt %d finished too late: it belongs to another attempt, "
                "nothing was written",
                item.message_id,
                item.attempt,
            )

    # --- handlers that hang ------------------------------------------------------------------

    def _give_up_hung(self, connection: Connection) -> None:
        now = self._clock.monotonic()
        for call in [one for one in self._in_hand.values() if one.overdue(now)]:
            self.hung += 1
            self._counts["hung"] += 1
            log.error("%s did not end in time: given up", call.handler.where)
            self._break_off(connection, call)
            self._drop(call)
            self._leave(call, self._timed_out(call))

    def _timed_out(self, call: Call) -> Settlement:
        limit = f"{call.handler.where} did not end within {call.handler.timeout:g} s"
        error = TimeoutError(f"{limit} and was given up.")
        return self._conclusions.settle_error(call.item, call.handler, error)

    def _break_off(self, connection: Connection, call: Call) -> None:
        call.given_up = True
        if (mark := call.session_mark) is not None:
            self._database.break_off(connection, mark)
        call.pass_turn()

    # --- small things ------------------------------------------------------------------------

    def _drop(self, call: Call) -> None:
        key = id(self._source_of(call)), call.item.id
        # After a lost lease the same row may be in hand again, as another attempt.
        if self._in_hand.get(key) is call:
            del self._in_hand[key]

    def _source_of(self, call: Call) -> Source:
        return next(one for one in self._sources if one.settling is call.settling)

    def _note_speed(self, call: Call) -> None:
        if call.started is not None:
            taken = self._clock.monotonic() - call.started
            self._seconds_each += 0.1 * (taken - self._seconds_each)

    def _rest(self) -> float:
        now = self._clock.monotonic()
        due = [self._next_suspect_search, *(source.next_claim for source in self._sources)]
        # What is due and was not claimed waits for room, and an answer that makes room wakes us.
        return min([self._pace.poll, *(moment - now for moment in due if moment > now)])


def _returned(call: Call) -> Settlement:
    """Free for another, unless it had begun what a person wants to be asked about."""
    if call.handler.asks and call.started is not None:
        return Dead(call.item, outcome_unknown(call.item))
    return HandedBack(call.item)
