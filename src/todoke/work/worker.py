"""The worker's tick: settle what was answered, claim what there is room for, start it.

One tick never waits for a handler, so a slow one delays no neighbour. A suspect (a row that was
in a process when it died) runs only while nothing else is in this process's hands. Of each strand
one row runs at a time; the next begins when it is settled.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from sqlalchemy import Connection

from todoke import crash
from todoke.database import Database
from todoke.telemetry import Counts, log
from todoke.work.conclude import Conclusions, describe, outcome_unknown
from todoke.work.intake import Intake
from todoke.work.item import Item
from todoke.work.order import Entry
from todoke.work.perform import Answer, Call, Fenced, InOwnTransaction
from todoke.work.pressure import Pressure
from todoke.work.settle import Dead, HandedBack, Settled, Settlement
from todoke.work.slots import Slots
from todoke.work.stream import Hands, Source


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
    ) -> None:
        self._sources, self._slots, self._database = sources, slots, database
        self._owner, self._counts, self._conclusions = owner, counts, conclusions
        self._intake, self._hands, self._pressure = intake, hands, pressure
        self._clock = database.clock
        self._unsettled: defaultdict[tuple[Source, UUID], list[Settlement]] = defaultdict(list)
        self._to_start: list[Call] = []
        self._lonely: tuple[str, int] | None = None
        self.stopping = False
        self.hung = 0

    def tick(self, connection: Connection) -> float:
        """One round; answers how long to rest unless woken."""
        self._intake.hear()
        self._collect()
        if self.stopping:
            self._return(self._slots.withdraw())
        self._give_up_hung(connection)
        self._settle(connection)
        owner = self._owner()
        if self.stopping or owner is None:
            return self._intake.rest()
        self._free_strays(connection)
        self._intake.prepare(connection, owner, self._unwritten())
        found = self._claim_round(connection, owner)
        self._settle(connection)
        return 0.0 if found or self._unsettled else self._intake.rest()

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
        while self._unsettled or not self._all_passed_on:
            self._settle(connection)

    def close(self) -> None:
        """Let go of the threads that wait for calls."""
        self._slots.close()

    def _return(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._drop(call)
            if call.started is None:
                self._pressure.let_go(call.item, call.owner, probe=call.probe)
            self._leave(call, _returned(call))

    # --- claiming ----------------------------------------------------------------------------

    def _claim_round(self, connection: Connection, owner: UUID) -> bool:
        if self._hands.holds(self._lonely):
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
            known = {*self._hands.ids(source), *source.strands.runs.ids()}
            for (of, _), group in self._unsettled.items():
                known |= {one.item.id for one in group if of is source}
            freed = source.claims.free_strays(connection, self._intake.unsure_of, known)
            self._counts["handed_back"] += freed
        unsure_of, streams = self._intake.unsure_of, self._intake.streams
        self._pressure.free_strays(connection, unsure_of, streams, self._hands.all)
        self._intake.unsure_of = None

    def _take_in(
        self, connection: Connection, source: Source, items: Sequence[Item], owner: UUID
    ) -> None:
        self._counts["claimed"] += len(items)
        left, beyond = deque(items), list[Item]()
        try:
            while left:
                if source.strands.is_beyond(left[0]):
                    beyond.append(left[0])
                else:
                    self._admit(source, left[0], owner)
                left.popleft()
            if beyond:
                self._counts["held"] += source.strands.hold_back(connection, owner, beyond)
        except Exception:
            back = [HandedBack(item) for item in (*beyond, *left)]
            self._unsettled[source, owner] += back
            raise
        finally:
            for item in (*beyond, *left):
                self._pressure.let_go(item, owner, probe=self._takes_probe(source, item))
        self._start()

    def _admit(self, source: Source, item: Item, owner: UUID) -> None:
        entry = Entry(item, owner, self._prepare(source, item, owner))
        if isinstance(entry.prepared, Call):
            self._hands.take(source, entry.prepared)
        if source.strands.add(entry):
            self._begin(source, entry)

    def _begin(self, source: Source, entry: Entry) -> None:
        prepared = entry.prepared
        if isinstance(prepared, Call):
            self._hands.begin(prepared)
            self._to_start.append(prepared)
        else:
            self._unsettled[source, entry.owner].append(prepared)

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
            self._pressure.let_go(item, owner, probe=self._takes_probe(source, item))
        return prepared

    def _takes_probe(self, source: Source, item: Item) -> bool:
        """True once: the same row may be claimed again, as any other."""
        probes, place = self._intake.probes, (source.name, item.id)
        is_probe = place in probes
        probes.discard(place)
        return is_probe

    # --- settling ----------------------------------------------------------------------------

    def _collect(self) -> None:
        for call, answer in self._slots.finished():
            if not call.given_up:
                self._drop(call)
                self._accept(call, answer)
        self._start()

    def _accept(self, call: Call, answer: Answer) -> None:
        self._note_speed(call)
        answer = self._pressure.judge(call, answer)
        source = self._source_of(call)
        match answer:
            case InOwnTransaction(item):
                self._counts["processed"] += 1
                source.strands.note_passed(item)
                self._go_on(source, item)
            case Fenced(item):
                self._report_fenced([item])
                self._stop_behind(source, item)
            case settlement:
                self._leave(call, settlement)

    def _unwritten(self) -> set[tuple[str, int]]:
        """Lanes with rows that are still to be written back: they must not be given away."""
        return {
            (one.item.stream, one.item.lane) for group in self._unsettled.values() for one in group
        }

    def _leave(self, call: Call, settlement: Settlement) -> None:
        self._unsettled[self._source_of(call), call.owner].append(settlement)

    def _settle(self, connection: Connection) -> None:
        for source, owner in list(self._unsettled):
            group = self._unsettled[source, owner]
            group[:] = [source.settling.spared(settlement) for settlement in group]
            for entry in source.strands.take_along(group):
                self._forget(source, entry)
            fenced = self._settle_group(connection, source, owner, group)
            # Only now: what could not be written because the database is away is written later.
            del self._unsettled[source, owner]
            for settlement in group:
                self._after(source, settlement, fenced=settlement.item.id in fenced)
        for source in self._sources:
            if source.strands.pass_on(connection):
                self.wake()
        self._intake.wake_streams(self._pressure.write(connection))
        self._start()

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
            self._begin(source, following)
            return
        # Not ours any more, or not to be begun: it goes back, and what follows with it.
        self._forget(source, following)
        self._unsettled[source, following.owner].append(HandedBack(following.item))

    def _stop_behind(self, source: Source, item: Item) -> None:
        for entry in source.strands.stop(item):
            self._forget(source, entry)
            self._unsettled[source, entry.owner].append(HandedBack(entry.item))

    def _forget(self, source: Source, entry: Entry) -> None:
        if isinstance(entry.prepared, Call):
            self._hands.drop(source, entry.prepared)
            self._pressure.let_go(entry.item, entry.owner, probe=entry.prepared.probe)

    def _settle_group(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> set[int]:
        """Write them all; answers the rows that belong to another attempt by now."""
        try:
            return self._write(connection, source, owner, group)
        except Exception as error:
            if self._database.is_lost(error) or self._database.passes(error):
                raise
            return self._settle_one_by_one(connection, source, owner, group)

    def _settle_one_by_one(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> set[int]:
        """One of them cannot be written; it must not keep the others."""
        fenced: set[int] = set()
        for position, settlement in enumerate(group):
            try:
                fenced |= self._write(connection, source, owner, [settlement])
            except Exception as error:
                if self._database.is_lost(error) or self._database.passes(error):
                    raise
                log.exception("message %s could not be settled", settlement.item.message_id)
                group[position] = Dead(settlement.item, describe(error, "permanent"))
                fenced |= self._write(connection, source, owner, [group[position]])
        return fenced

    def _write(
        self, connection: Connection, source: Source, owner: UUID, group: list[Settlement]
    ) -> set[int]:
        with connection.begin():
            is_held = source.strands.is_held
            settled = source.settling.settle(connection, owner, group, is_held)
            crash.point("settle.before_commit")
        crash.point("settle.after_commit")
        self._count(settled)
        source.strands.note(settled)
        if settled.barriers or any(getattr(one, "then", None) is not None for one in group):
            self.wake()
        return {item.id for item in settled.fenced}

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
        return next(one for one in self._sources if one.settling is call.settling)

    def _note_speed(self, call: Call) -> None:
        if call.started is not None:
            taken = self._clock.monotonic() - call.started
            self._intake.seconds_each += 0.1 * (taken - self._intake.seconds_each)


def _returned(call: Call) -> Settlement:
    """Free for another, unless it had begun what a person wants to be asked about."""
    if call.handler.asks and call.started is not None:
        return Dead(call.item, outcome_unknown(call.item), final=True)
    return HandedBack(call.item)
