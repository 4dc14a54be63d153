"""What answers say about destinations: count it, open and close breakers, give slots back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from uuid import UUID

from sqlalchemy import Connection

from todoke.work.call import Answer, Call, InOwnTransaction
from todoke.work.destination import COUNTED, Destination
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, HandedBack, Later, Processed

_WHILE_OPEN = 1.0
_MOST_RESTS = 10


class Pressure:
    """Watches calls that go to destinations; used by the worker's thread."""

    def __init__(self, destination_of: Callable[[str], Destination | None]) -> None:
        self._look_up, self._known = destination_of, dict[str, Destination | None]()
        self._ended: Counter[tuple[Destination, UUID]] = Counter()
        self._unused: Counter[Destination] = Counter()
        self._unanswered: set[Destination] = set()
        self._open: set[Destination] = set()
        self._close: set[Destination] = set()
        self._streams: dict[Destination, set[str]] = {}

    def _destination_of(self, stream: str) -> Destination | None:
        try:
            return self._known[stream]
        except KeyError:
            return self._known.setdefault(stream, self._look_up(stream))

    def watch(self, call: Call, *, probe: bool) -> None:
        """Hand the call back unbegun once its destination rests, unless it is to try that."""
        destination = self._destination_of(call.item.stream)
        if destination is not None:
            self._streams.setdefault(destination, set()).add(call.item.stream)
            call.probe = probe
            if not probe:
                call.withheld = lambda: destination.is_open

    def judge(self, call: Call, answer: Answer) -> Answer:
        """Note how the call went; while its destination rests, a failure costs no attempt."""
        destination = self._destination_of(call.item.stream)
        if destination is None:
            return answer
        if isinstance(answer, HandedBack):
            self.let_go(call.item, call.owner, probe=call.probe)
            return answer
        self._ended[destination, call.owner] += 1
        if isinstance(answer, Later | Dead) and _counts(answer.failure):
            return self._failed(call, destination, answer)
        if not _is_success(answer):
            self._unanswered |= {destination} if call.probe else set()
        elif destination.succeeded():
            self._close.add(destination)
        return answer

    def let_go(self, item: Item, owner: UUID, *, probe: bool) -> None:
        """Give back the room of a row that was claimed and is not called."""
        destination = self._destination_of(item.stream)
        if destination is not None:
            self._streams.setdefault(destination, set()).add(item.stream)
            self._ended[destination, owner] += 1
            self._unused[destination] += 1
            self._unanswered |= {destination} if probe else set()

    def free_strays(
        self,
        connection: Connection,
        owner: UUID,
        streams: Iterable[str],
        in_hand: Callable[[str], int],
    ) -> None:
        """A reply was lost, and with it perhaps slots that nobody here knows of."""
        known: Counter[Destination] = Counter()
        for stream in streams:
            destination = self._destination_of(stream)
            if destination is not None:
                known[destination] += in_hand(stream)
        for destination, calls in known.items():
            with connection.begin():
                destination.trim(connection, owner, calls + self._ended[destination, owner])

    def write(self, connection: Connection) -> set[str]:
        """Write what was noted; answers the streams that may have room again."""
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
        return {stream for one in touched for stream in self._streams.get(one, ())}

    def _failed(self, call: Call, destination: Destination, answer: Later | Dead) -> Answer:
        if answer.failure is not None and destination.failed(answer.failure.error_class):
            self._open.add(destination)
        if not (destination.is_open or call.probe) or _is_final(answer):
            return answer
        wait = answer.seconds if isinstance(answer, Later) else _WHILE_OPEN
        if call.probe:
            wait = max(wait, _behind_the_others(call.item, destination))
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


def _behind_the_others(item: Item, destination: Destination) -> float:
    """Seconds until a row that failed as the probe comes again: others try the destination first.

    It costs no attempt, so one that always fails would else be the probe for ever.
    """
    breaker = destination.bounds.breaker
    rest = breaker.rest.total_seconds() if breaker is not None else 0.0
    return rest * min(2 + item.spared, _MOST_RESTS)
