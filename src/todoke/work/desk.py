"""Making a call from a claimed message: read its body, collect what the handler asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, TypeAlias
from uuid import UUID

from pydantic import ValidationError

from todoke import codec
from todoke.clock import Clock
from todoke.errors import LeaseLost
from todoke.message import Event, Message, told
from todoke.telemetry import masked
from todoke.work.attempt import Attempt
from todoke.work.call import Call
from todoke.work.conclude import Conclusions
from todoke.work.handler import Handler
from todoke.work.inject import Providers
from todoke.work.item import Failure, Item
from todoke.work.settle import Settling
from todoke.work.settlement import Dead, Later, Settlement

EXPIRED = "EXPIRED"
INVALID_PAYLOAD = "INVALID_PAYLOAD"
UNKNOWN_VERSION = "UNKNOWN_VERSION"
NO_HANDLER = "NO_HANDLER"
LOOK_AGAIN = 5.0
"""Seconds after which work that nobody here knows is looked at again."""


Own: TypeAlias = Mapping[Any, Callable[[Call], Any]]
OF_MESSAGES: Own = {
    Attempt: lambda call: call.attempt,
    Message: lambda call: call.attempt.message,
}
"""What a handler may ask for that belongs to the call."""


class Desk:
    """Prepares calls for one work table."""

    def __init__(
        self,
        settling: Settling,
        providers: Providers,
        conclusions: Conclusions,
        clock: Clock,
        owner: Callable[[], UUID | None],
        grace: float,
        own: Own | None = None,
    ) -> None:
        self._own = OF_MESSAGES if own is None else own
        self._settling, self._providers, self._conclusions = settling, providers, conclusions
        self._clock, self._owner = clock, owner
        self._grace = grace

    def call(self, item: Item, handler: Handler, owner: UUID) -> Call | Settlement:
        if item.deliver_before is not None and item.deliver_before <= self._clock.now():
            return Dead(item, _expired(item), final=True)
        kind = _event_class(handler.events, item.context, item.type, item.version)
        if kind is None:
            return self._newer(item, handler)
        try:
            event = kind.model_validate_json(item.body)
        except ValidationError as error:
            return Dead(item, invalid_body(item, error), final=True)
        return self.ready(item, handler, event, owner)

    def ready(
        self,
        item: Item,
        handler: Handler,
        event: Any,
        owner: UUID,
        describe: Callable[[Call], Attempt] | None = None,
    ) -> Call | Settlement:
        """A call with all that its handler asks for."""
        call = Call(item, handler, event, self._settling, owner, describe or self._attempt)
        try:
            if handler.injected:
                self._fill(call)
        except Exception as error:
            # What it asks for cannot be made just now: a failed attempt like any other.
            return self._conclusions.settle_error(item, handler, error, started=False)
        return call

    def _fill(self, call: Call) -> None:
        asked, context = call.handler.injected, call.handler.context
        rest = [one for one in asked if one.kind not in self._own]
        values = self._providers.process_values(rest, context) if rest else {}
        values |= {one.name: self._own[one.kind](call) for one in asked if one.kind in self._own}
        call.values = values
        call.needs_attempt_scope = self._providers.needs_attempt_scope(rest, context)

    def _attempt(self, call: Call) -> Attempt:
        item, handler = call.item, call.handler
        return Attempt(
            number=item.number,
            of=handler.retry.attempts,
            name=handler.name,
            message=message_of(item, call.event),
            deadline=item.claimed_at + timedelta(seconds=handler.timeout),
            _check=partial(self.check, call),
        )

    def check(self, call: Call) -> None:
        if call.cancelled is not None:
            raise call.cancelled
        if call.given_up or self._owner() != call.owner:
            raise LeaseLost(call.handler.where, call.item.attempt)

    def _newer(self, item: Item, handler: Handler) -> Settlement:
        """Written by a newer release: left for a worker that knows it, within the grace time."""
        if may_wait(item, self._grace):
            return Later(item, LOOK_AGAIN, spared=True)
        known = max(event.declared.version for event in handler.events)
        failure = Failure(
            "permanent",
            UNKNOWN_VERSION,
            f"{item.type!r} has version {item.version}, {handler.where} knows up to {known}. "
            "Deploy the newer release, then redrive.",
        )
        return Dead(item, failure)


def may_wait(item: Item, grace: float) -> bool:
    """A worker that knows it may still come: not looked at for longer than the grace time.

    Counted in looks, not from its creation: what was delayed or redriven gets its time, too.
    """
    return item.spared * LOOK_AGAIN < grace


@lru_cache(maxsize=1024)
def _event_class(
    known: tuple[type[Event], ...], context: str, type: str, version: int
) -> type[Event] | None:
    """The oldest that can read it, of the item's own context."""
    fitting = [
        event
        for event in known
        if event.declared.type == type
        and event.declared.context in (None, context)
        and event.declared.version >= version
    ]
    return min(fitting, key=lambda event: event.declared.version, default=None)


def message_of(item: Item, data: Any) -> Message[Any]:
    return Message(
        id=item.message_id,
        type=item.type,
        version=item.version,
        context=item.context,
        aggregate=item.aggregate,
        key=item.key,
        data=data,
        created_at=item.created_at,
        headers=codec.load_object(item.headers) if item.headers else {},
        trace_context=item.trace_context,
    )


def _expired(item: Item) -> Failure:
    return Failure(
        "permanent",
        EXPIRED,
        f"It was to be delivered before {item.deliver_before:%Y-%m-%d %H:%M:%S} UTC and was not.",
    )


def invalid_body(item: Item, error: ValidationError) -> Failure:
    text = f"{item.type!r} cannot be read: {told(error)}. Redrive with a corrected payload."
    return Failure("permanent", INVALID_PAYLOAD, masked(text))


def no_handler(item: Item) -> Failure:
    what = f"handler {item.handler!r}" if item.handler else f"a handler for {item.type!r}"
    return Failure(
        "permanent",
        NO_HANDLER,
        f"No living worker has {what}. Deploy one that has, then redrive; or resolve.",
    )
