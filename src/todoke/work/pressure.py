"""What answers say about destinations: count it, open and close breakers, give slots back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from uuid import UUID

from sqlalchemy import Connection

from todoke.work.call import Answer, Call, InOwnTransaction
from todoke.work.destination import COUNTED, Destination
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, HandedBack, Later, Processed
from todoke.work.stream import DestinationOf

_WHILE_OPEN = 1.0
_MOST_RESTS = 10

Parts = Sequence[Destination]
"""All that a call needs room in: none, or its destination, or that and its queue's."""


class Pressure:
    """Watches calls that go to destinations; used by the worker's thread."""

    def __init__(self, destination_of: DestinationOf) -> None:
        self._look_up, self._known = destination_of, dict[tuple[str, str], Parts]()
        self._ended: Counter[tuple[Destination, UUID]] = Counter()
        self._unused: Counter[Destination] = Counter()
        self._unanswered: set[Destination] = set()
        self._open: set[Destination] = set()
        self._close: set[Destination] = set()

    def _parts(self, source: str, stream: str) -> Parts:
        try:
            return self._known[source, stream]
        except KeyError:
            found = self._look_up(source, stream)
            return self._known.setdefault((source, stream), found.parts if found else ())

    def _parts_of(self, call: Call) -> Parts:
        return self._parts(call.settling.table.source, call.item.stream)

    def watch(self, call: Call, *, probe: bool) -> None:
        """Hand the call back unbegun once its destination rests, unless it is to try that."""
        parts = self._parts_of(call)
        if parts:
            call.probe = probe
            if not probe:
                call.withheld = lambda: any(part.is_open for part in parts)

    def judge(self, call: Call, answer: Answer) -> Answer:
        """Note how the call went; while its destination rests, a failure costs no attempt."""
        parts = self._parts_of(call)
        if not parts:
            return answer
        if isinstance(answer, HandedBack) and call.started is None:
            source = call.settling.table.source
            self.let_go(source, call.item, call.owner, probe=call.probe)
            return answer
        self._ended.update((part, call.owner) for part in parts)
        if isinstance(answer, Later | Dead) and _counts(answer.failure):
            return self._failed(call, parts, answer)
        if not _is_success(answer):
            self._unanswered.update(parts if call.probe else ())
        else:
            self._close.update(part for part in parts if part.succeeded())
        return answer

    def let_go(self, source: str, item: Item, owner: UUID, *, probe: bool) -> None:
        """Give back the room of a row that was claimed and is not called."""
        parts = self._parts(source, item.stream)
        self._ended.update((part, owner) for part in parts)
        self._unused.update(parts)
        self._unanswered.update(parts if probe else ())

    def free_strays(
        self,
        connection: Connection,
        owner: UUID,
        places: Iterable[tuple[str, str]],
        in_hand: Iterable[Call],
    ) -> None:
        """A reply was lost, and with it perhaps slots that nobody here knows of."""
        calls = Counter(
            part for call in in_hand if call.owner == owner for part in self._parts_of(call)
        )
        for part in {part for place in places for part in self._parts(*place)}:
            with connection.begin():
                part.trim(connection, owner, calls[part] + self._ended[part, owner])

    def write(self, connection: Connection) -> set[Destination]:
        """Write what was noted; answers who may have room again."""
        if not (self._ended or self._open or self._close):
            return set()
        touched = {destination for destination, _ in self._ended} | self._close
        with connection.begin():
            for destination in self._open:
                destination.open(connection)
            for destination in self._close:
                destination.close(connection)
            for destination in self._unanswered:
                destination.return_probe(connection)
            for (destination, owner), slots in self._ended.items():
                destination.give_back(connection, owner, slots)
            for destination, tokens in self._unused.items():
                destination.return_tokens(connection, tokens)
        self._ended.clear()
        self._unused.clear()
        self._unanswered, self._open, self._close = set(), set(), set()
        return touched

    def _failed(self, call: Call, parts: Parts, answer: Later | Dead) -> Answer:
        if answer.failure is not None:
            kind = answer.failure.error_class
            self._open.update([part for part in parts if part.failed(kind)])
        rests = any(part.is_open for part in parts)
        if not (rests or call.probe) or _is_final(answer):
            return answer
        wait = answer.seconds if isinstance(answer, Later) else _WHILE_OPEN
        if call.probe:
            wait = max(wait, _behind_the_others(call.item, parts))
        attempts = call.handler.retry.attempts
        return Later(call.item, wait, answer.failure, spared=True, of=attempts)


def _counts(failure: Failure | None) -> bool:
    return failure is not None and failure.error_class in COUNTED


def _is_success(answer: Answer) -> bool:
    """The handler did what it is for; whoever skips or gives up may not have called anybody."""
    return isinstance(answer, InOwnTransaction) or (
        isinstance(answer, Processed) and answer.note is None
    )


def _is_final(answer: Later | Dead) -> bool:
    """A person is to be asked first, whatever the destination does."""
    return isinstance(answer, Dead) and answer.final


def _behind_the_others(item: Item, parts: Parts) -> float:
    """Seconds until a row that failed as the probe comes again: others try the destination first.

    It costs no attempt, so one that always fails would else be the probe for ever.
    """
    breakers = [part.bounds.breaker for part in parts if part.bounds.breaker is not None]
    rest = max((breaker.rest.total_seconds() for breaker in breakers), default=0.0)
    return rest * min(2 + item.spared, _MOST_RESTS)
