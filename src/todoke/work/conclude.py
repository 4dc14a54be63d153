"""From what a handler answered or raised to how its message is settled."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy.exc import SQLAlchemyError

from todoke.clock import Clock
from todoke.duration import seconds
from todoke.errors import (
    BusinessError,
    Cancelled,
    ErrorClass,
    InvalidEvent,
    PermanentError,
    TransientError,
    UndeclaredEvent,
)
from todoke.identity import screaming
from todoke.message import Event
from todoke.outcome import Done, Outcome, Reject, Retry, Skip, Snooze
from todoke.telemetry import masked
from todoke.work.handler import Handler
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, Later, Processed, Settlement, Then, in_turn

Publish = Callable[[Sequence[Event], Handler, Item], Then]
"""Turns events a handler answered into rows to be written as its message is settled."""


class Entries(Protocol):
    """Writes into the ledger what became of a message that settles an entry."""

    def succeed(self, item: Item, result: object) -> Then | None: ...
    def refuse(self, item: Item, failure: Failure) -> Then | None: ...


OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
TIMEOUT = "TIMEOUT"

_LONGEST_TEXT = 20_000
_NOTHING_MORE: tuple[Outcome, tuple[Event, ...]] = (Done(), ())


class Conclusions:
    """Decides, by outcome, error class and retry policy."""

    def __init__(
        self,
        clock: Clock,
        random: Callable[[], float],
        publish: Publish,
        entries: Entries | None = None,
    ) -> None:
        self._clock, self._random, self._publish = clock, random, publish
        self._entries = entries

    def outcome_of(self, answer: Any) -> tuple[Outcome, tuple[Event, ...]]:
        """An answer is an outcome, events to publish, or nothing."""
        match answer:
            case None:
                return _NOTHING_MORE
            case Done() | Retry() | Snooze() | Reject() | Skip():
                return answer, ()
            case Event():
                return Done(), (answer,)
            case list() | tuple() if all(isinstance(one, Event) for one in answer):
                return Done(), tuple(answer)
        raise PermanentError(
            f"The handler answered {type(answer).__name__}; it may answer None, an outcome "
            "(Done, Retry, Snooze, Reject, Skip) or events to publish.",
            code="WRONG_ANSWER",
        )

    def then(
        self, outcome: Outcome, events: Sequence[Event], handler: Handler, item: Item
    ) -> Then | None:
        """What is still to be written as the message is settled: events, and its entry's end."""
        written = self._rows(events, handler, item)
        if item.settles is None or self._entries is None:
            return written
        match outcome:
            case Done(result):
                return in_turn(written, self._entries.succeed(item, result))
            case Skip():
                return self._entries.succeed(item, None)
        return written

    def _rows(self, events: Sequence[Event], handler: Handler, item: Item) -> Then | None:
        for event in events:
            if handler.publishes is not None and type(event) not in handler.publishes:
                known = [one.__name__ for one in handler.publishes]
                raise UndeclaredEvent(handler.where, type(event).__name__, known)
        return self._publish(events, handler, item) if events else None

    def settle(
        self, item: Item, handler: Handler, outcome: Outcome, then: Then | None
    ) -> Settlement:
        match outcome:
            case Done(result):
                return Processed(item, then=then, result=result)
            case Skip(reason):
                return Processed(item, note=masked(reason), then=then)
            case Snooze(until):
                return Later(item, self._until(until), spared=True, of=handler.retry.attempts)
            case Reject(reason):
                code = _code(outcome.code, "REJECTED")
                return Dead(item, Failure("permanent", code, masked(reason)))
            case Retry(after):
                code = _code(outcome.code, "RETRY")
                failure = Failure("transient", code, masked(outcome.reason))
                return self._again(item, handler, failure, after)

    def settle_error(
        self, item: Item, handler: Handler, error: BaseException, *, started: bool = True
    ) -> Settlement:
        try:
            return self._by_class(item, handler, error, started=started)
        except Exception as worse:
            # A classifier that fails, an error that cannot be told: still just a failed attempt.
            return self._again(item, handler, describe(worse, "transient"), None)

    def _by_class(
        self, item: Item, handler: Handler, error: BaseException, *, started: bool
    ) -> Settlement:
        if isinstance(error, Cancelled):
            return Processed(item, note=f"CANCELLED: {masked(str(error))}", ends_well=False)
        kind = classify(error, handler)
        failure = describe(error, kind)
        if kind == "permanent":
            return Dead(item, failure)
        if kind == "timeout" and handler.asks and started:
            return Dead(item, outcome_unknown(item), final=True)
        if kind == "business":
            return self._business(item, handler, error, failure)
        after = error.after if isinstance(error, TransientError) else None
        return self._again(item, handler, failure, after)

    def _business(
        self, item: Item, handler: Handler, error: BaseException, failure: Failure
    ) -> Settlement:
        event = getattr(error, "publish", None)
        if not isinstance(event, Event):
            return Dead(item, failure)
        try:
            then = self._rows([event], handler, item)
        except InvalidEvent as wrong:
            return Dead(item, describe(wrong, "permanent"))
        if item.settles is not None and self._entries is not None:
            then = in_turn(then, self._entries.refuse(item, failure))
        return Processed(item, note=f"{failure.code}: {failure.message}", then=then)

    def _again(
        self, item: Item, handler: Handler, failure: Failure, after: object | None
    ) -> Settlement:
        policy = handler.retry
        if policy.exhausted(item.number):
            return Dead(item, failure)
        wait = (
            policy.wait(item.number, self._random).total_seconds()
            if after is None
            else seconds(after, "after")
        )
        return Later(item, wait, failure, of=policy.attempts)

    def _until(self, until: object) -> float:
        if isinstance(until, datetime):
            return max(0.0, (until - self._clock.now()).total_seconds())
        return seconds(until, "Snooze(until)")


def outcome_unknown(item: Item) -> Failure:
    return Failure(
        "transient",
        OUTCOME_UNKNOWN,
        "The handler had started, and its worker died or its time was up before its answer was "
        "recorded. Find out whether it took effect, then redrive or resolve.",
    )


def classify(error: BaseException, handler: Handler) -> ErrorClass:
    for kind, verdict in handler.classifiers:
        if isinstance(error, kind):
            return verdict(error) if callable(verdict) else verdict
    match error:
        case PermanentError() | InvalidEvent():
            return "permanent"
        case BusinessError():
            return "business"
        case TransientError():
            return "transient"
        case TimeoutError():
            return "timeout"
    return "transient"


def describe(error: BaseException, kind: ErrorClass) -> Failure:
    # SQLAlchemy's `code` is the address of a page of its manual.
    own = None if isinstance(error, SQLAlchemyError) else getattr(error, "code", None)
    text = str(error)[:_LONGEST_TEXT] or type(error).__name__
    trail = "".join(traceback.format_exception(error))[-_LONGEST_TEXT:]
    usual = TIMEOUT if type(error) is TimeoutError else screaming(type(error).__name__)
    code = _code(own, usual)
    return Failure(kind, code, masked(text), masked(trail))


def _code(given: object, otherwise: str) -> str:
    return masked(given if isinstance(given, str) and given else otherwise)[:100]
