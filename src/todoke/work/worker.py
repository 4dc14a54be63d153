"""The worker's tick: settle what was answered, claim what there is room for, start it.

One tick never waits for a handler, so a slow one delays no neighbour. A suspect (a row that was
in a process when it died) runs only while nothing else is in this process's hands. Of each strand
one row runs at a time; the next begins when it is settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from sqlalchemy import Connection

from todoke import crash
from todoke.database import Database
from todoke.telemetry import Counts, log
from todoke.work.account import Account
from todoke.work.call import Answer, Call, Fenced, InOwnTransaction
from todoke.work.conclude import Conclusions, describe
from todoke.work.intake import Intake
from todoke.work.item import Item
from todoke.work.order import Entry
from todoke.work.perform import returned
from todoke.work.pressure import Pressure
from todoke.work.settlement import Dead, HandedBack, Processed, Settled, Settlement
from todoke.work.settler import Beside, Group, Unsettled
from todoke.work.slots import Slots
from todoke.work.strand import UNORDERED
from todoke.work.stream import Hands, Source

_LOOK_AT_HUNG = 0.1
"""Seconds between looks at all calls in hand, of which there may be many."""


class Worker:
    """Claims work, lets handlers run in slots, and settles what they answered."""

    def __init__(
        self,
        sources: Sequence[Source],
        slots: Slots,
        database: Database,
        owner: Callable[[], UUID | None],
        conclusions: Conclusions,
        intake: Intake,
        hands: Hands,
        pressure: Pressure,
        counts: Counts,
        account: Account,
        beside: Beside | None = None,
    ) -> None:
        self._sources, self._slots, self._database = sources, slots, database
        self._owner, self._counts, self._conclusions = owner, counts, conclusions
        self._intake, self._hands, self._pressure = intake, hands, pressure
        self._account = account
        self._clock = database.clock
        self._by_settling = {source.settling: source for source in sources}
        self._unsettled = Unsettled(database, beside)
        self._to_start: list[Call] = []
        self._lonely: tuple[str, int] | None = None
        self._next_look_at_hung = 0.0
        self.stopping: bool = False
        self.hung: int = 0

    def tick(self, connection: Connection) -> float:
        """One round; answers how long to rest unless woken."""
        self._intake.hear(connection)
        self._collect()
        if self.stopping:
            self._return(self._slots.withdraw())
        self._give_up_hung(connection)
        self._settle(connection)
        owner = self._owner()
        if self.stopping or owner is None:
            return self._intake.rest()
        self._free_strays(connection)
        self._intake.prepare(connection, owner)
        found = self._claim_round(connection, owner)
        self._settle(connection)
        return 0.0 if found or self._unsettled.can_be_written else self._intake.rest()

    @property
    def idle(self) -> bool:
        """Nothing in hand and nothing left to write."""
        return not (self._hands or self._unsettled) and self._all_passed_on

    @property
    def _all_passed_on(self) -> bool:
        return all(source.strands.idle for source in self._sources)

    def wake(self, hints: Iterable[str] = ()) -> None:
        """Something may be due: claim at the next tick, where it was rung for or everywhere."""
        self._intake.wake(hints)

    def look_around(self) -> None:
        """Look everywhere at the next tick, also where nobody told of."""
        self._intake.look_around()
        self._intake.wake()

    def hand_back(self, connection: Connection) -> None:
        """Give back what is in hand, its attempt not counted: the process is about to end."""
        crash.point("shutdown.before_hand_back")
        self._collect()
        calls = self._hands.calls()
        for call in calls:
            self._break_off(connection, call)
        self.stopping = True
        self._return([call for call in calls if not call.waits])
        self._settle(connection)
        self._unsettled.take_over()
        while self._unsettled or not self._all_passed_on:
            self._settle(connection)

    def close(self) -> None:
        """Let go of the threads that wait for calls."""
        self._slots.close()

    def _return(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._drop(call)
            if call.started is None:
                source = self._source_of(call).name
                self._pressure.let_go(source, call.item, call.owner, probe=call.probe)
            self._leave(call, returned(call))

    # --- claiming ----------------------------------------------------------------------------

    def _claim_round(self, connection: Connection, owner: UUID) -> bool:
        if self._is_lonely() or self._unsettled.is_behind(self._intake.batch):
            return False
        # After a suspect comes an ordinary round: suspects must not starve the others.
        found, self._lonely = self._lonely is not None, None
        if not found and self._intake.wants_suspect(connection):
            if self._hands:
                return False
            if self._claim_suspect(connection, owner):
                return True
        for source, items in self._intake.claim(connection, owner):
            self._take_in(connection, source, items, owner)
            found = True
        return found

    def _is_lonely(self) -> bool:
        """A suspect is in hand; until it is written that it survived, a crash would be its own."""
        lonely = self._lonely
        return lonely is not None and (self._hands.holds(lonely) or self._unsettled.holds(lonely))

    def _claim_suspect(self, connection: Connection, owner: UUID) -> bool:
        claimed = self._intake.claim_suspect(connection, owner)
        if claimed is None:
            return False
        source, items = claimed
        self._lonely = (source.name, items[0].id)
        self._take_in(connection, source, items, owner)
        return True

    def _free_strays(self, connection: Connection) -> None:
        """A claim whose reply was lost may have taken rows that nobody here knows of."""
        if self._intake.unsure_of is None:
            return
        for source in self._sources:
            in_hand = {*self._hands.claims(source), *source.strands.runs.claims()}
            known = in_hand | self._unsettled.claims(source.name)
            freed = source.claims.free_strays(connection, self._intake.unsure_of, known)
            self._counts["handed_back"] += freed
            source.doubt(self._intake.unsure_of)
        unsure_of, places = self._intake.unsure_of, self._intake.places
        self._pressure.free_strays(connection, unsure_of, places, self._hands.calls())
        self._intake.unsure_of = None

    def _take_in(
        self, connection: Connection, source: Source, items: Sequence[Item], owner: UUID
    ) -> None:
        self._counts["claimed"] += len(items)
        admitted, beyond = 0, list[Item]()
        try:
            for item in items:
                if item.lane != UNORDERED and source.strands.is_beyond(item):
                    beyond.append(item)
                else:
                    self._admit(source, item, owner)
                admitted += 1
            if beyond:
                self._counts["held"] += source.strands.hold_back(connection, owner, beyond)
        except Exception:
            for item in (*beyond, *items[admitted:]):
                source.strands.add_returning(item, owner)
                self._unsettled.add(source, owner, HandedBack(item))
            raise
        finally:
            for item in (*beyond, *items[admitted:]):
                probe = self._takes_probe(source, item)
                self._pressure.let_go(source.name, item, owner, probe=probe)
        self._start()

    def _admit(self, source: Source, item: Item, owner: UUID) -> None:
        prepared = self._prepare(source, item, owner)
        if isinstance(prepared, Call):
            self._hands.take(source, prepared)
        if item.lane == UNORDERED or source.strands.add(Entry(item, owner, prepared)):
            self._begin(source, owner, prepared)

    def _begin(self, source: Source, owner: UUID, prepared: Call | Settlement) -> None:
        if isinstance(prepared, Call):
            self._hands.begin(prepared)
            self._to_start.append(prepared)
        else:
            self._unsettled.add(source, owner, prepared)

    def _start(self) -> None:
        calls, self._to_start = self._to_start, []
        if calls:
            self._slots.start(calls)

    def _prepare(self, source: Source, item: Item, owner: UUID) -> Call | Settlement:
        try:
            prepared = source.router.prepare(item, owner)
        except Exception as error:
            if self._database.is_lost(error) or self._database.passes(error):
                raise  # no fault of the message: it goes back
            log.exception("message %s could not be prepared", item.message_id)
            prepared = Dead(item, describe(error, "permanent"))
        if isinstance(prepared, Call):
            self._pressure.watch(prepared, probe=self._takes_probe(source, item))
        else:
            probe = self._takes_probe(source, item)
            self._pressure.let_go(source.name, item, owner, probe=probe)
        return prepared

    def _takes_probe(self, source: Source, item: Item) -> bool:
        """True once: the same row may be claimed again, as any other."""
        probes, place = self._intake.probes, (source.name, item.id)
        is_probe = bool(probes) and place in probes
        probes.discard(place)
        return is_probe

    # --- settling ----------------------------------------------------------------------------

    def _collect(self) -> None:
        finished = self._slots.finished()
        self._note_speed([call for call, _ in finished])
        for call, answer in finished:
            if not call.given_up:
                self._drop(call)
                self._accept(call, answer)
        self._start()

    def _accept(self, call: Call, answer: Answer) -> None:
        answer = self._pressure.judge(call, answer)
        source = self._source_of(call)
        if isinstance(answer, InOwnTransaction | Fenced):
            source.let_go(call.owner, [answer.item])
        match answer:
            case InOwnTransaction(item):
                self._counts["processed"] += 1
                self._account.of_processed(item)
                source.strands.note_passed(item)
                self._go_on(source, item)
            case Fenced(item):
                self._report_fenced([item])
                self._stop_behind(source, item)
            case settlement:
                self._leave(call, settlement)

    def _leave(self, call: Call, settlement: Settlement) -> None:
        self._unsettled.add(self._source_of(call), call.owner, settlement)

    def _settle(self, connection: Connection) -> None:
        for group in self._unsettled.write(connection, self._complete):
            self._note_settled(group)
        for source in self._sources:
            if source.strands.pass_on(connection):
                self.wake()
        self._intake.wake_for(self._pressure.write(connection))
        self._intake.free_keys(connection)
        self._start()

    def _complete(self, group: Group) -> None:
        """Add what goes back together with items that did not get through."""
        source, settlements = group.source, group.settlements
        if any(type(one) is not Processed for one in settlements):
            settlements[:] = [source.settling.spared(one) for one in settlements]
            for entry in source.strands.take_along(settlements, group.owner):
                self._forget(source, entry)
                if entry.owner != group.owner:
                    self._unsettled.add(source, entry.owner, HandedBack(entry.item))

    def _note_settled(self, group: Group) -> None:
        source, settled = group.source, group.settled
        self._count(settled)
        source.let_go(group.owner, [one.item for one in group.settlements])
        source.strands.note(settled)
        if settled.barriers or any(getattr(one, "then", None) for one in group.settlements):
            self.wake()
        fenced = {item.id for item in settled.fenced}
        written = group.settlements
        if fenced:
            written = [one for one in written if one.item.id not in fenced]
        self._account.of_written(written)
        for settlement in group.settlements:
            if settlement.item.lane != UNORDERED:
                self._after(source, settlement, fenced=settlement.item.id in fenced)

    def _after(self, source: Source, settlement: Settlement, *, fenced: bool) -> None:
        if source.settling.opens(settlement) and not fenced:
            self._go_on(source, settlement.item)
        else:
            self._stop_behind(source, settlement.item)

    def _go_on(self, source: Source, item: Item) -> None:
        """Begin with the next of its strand."""
        following = source.strands.following(item)
        if following is None:
            return
        if following.owner == self._owner() and not self.stopping:
            self._begin(source, following.owner, following.prepared)
            return
        # Not ours any more, or not to be begun: it goes back, and what follows with it.
        self._forget(source, following)
        self._unsettled.add(source, following.owner, HandedBack(following.item))

    def _stop_behind(self, source: Source, item: Item) -> None:
        for entry in source.strands.stop(item):
            self._forget(source, entry)
            self._unsettled.add(source, entry.owner, HandedBack(entry.item))

    def _forget(self, source: Source, entry: Entry) -> None:
        if isinstance(entry.prepared, Call):
            self._hands.drop(source, entry.prepared)
            probe = entry.prepared.probe
            self._pressure.let_go(source.name, entry.item, entry.owner, probe=probe)

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
        if now < self._next_look_at_hung:
            return
        self._next_look_at_hung = now + _LOOK_AT_HUNG
        for call in [one for one in self._hands.calls() if one.overdue(now)]:
            self.hung += 1
            self._counts["hung"] += 1
            log.error("%s did not end in time: given up", call.handler.where)
            self._break_off(connection, call)
            self._drop(call)
            self._accept(call, self._timed_out(call))

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
        self._hands.drop(self._source_of(call), call)

    def _source_of(self, call: Call) -> Source:
        return self._by_settling[call.settling]

    def _note_speed(self, finished: Sequence[Call]) -> None:
        now = self._clock.monotonic()
        for call in finished:
            if call.started is not None:
                taken = now - call.started
                self._intake.seconds_each += 0.1 * (taken - self._intake.seconds_each)
