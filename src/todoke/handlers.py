"""From what `@on` was given to handlers that can run: checked, named, with their policies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from todoke.cycle import refuse_cycles
from todoke.duration import seconds
from todoke.errors import DuplicateName, InvalidOption
from todoke.job_schedules import job_schedules
from todoke.jobs.handler import JobHandler
from todoke.jobs.schedule import Schedule
from todoke.limits import Bounds
from todoke.limits import bounds as bounds_of
from todoke.message import Event, Message
from todoke.retry import policy
from todoke.work.attempt import Attempt
from todoke.work.handler import Handler, Parameter, parameters_of, place, session_parameter
from todoke.work.item import Item
from todoke.work.lease import registered
from todoke.work.strand import DEFAULT_QUEUE, stream_name

if TYPE_CHECKING:
    from todoke.app import Todoke
    from todoke.context import Context
    from todoke.wish import Wish


@dataclass(frozen=True)
class Handlers:
    """All handlers of an application, by name and by what they take."""

    by_name: dict[str, Handler]
    registers: dict[str, dict[str, str]]
    event_classes: dict[str, type[Event]]
    bounds: dict[str, Bounds]
    jobs: Mapping[str, JobHandler]
    schedules: Mapping[str, Schedule]

    def name_for(self, item: Item) -> str:
        """Whom a message is for, as its dead letter says: its one handler, or its type."""
        names = [item.handler] if item.handler else self.names_of(item.context, item.type)
        return names[0] if len(names) == 1 else item.type

    def names_of(self, context: str, type: str) -> list[str]:
        """The handlers of an event type."""
        return list(registered(self.registers, context, type))

    def followers(self, item: Item) -> str:
        """What becomes of a key when this item of it dies: its handler's word, or its event's."""
        return self.followers_for(self.name_for(item), item)

    def followers_for(self, handler: str, item: Item) -> str:
        known = self.by_name.get(handler)
        return (known.followers if known else None) or item.followers

    def longest_wait(self, item: Item) -> float:
        """Between the attempts of one that never dies."""
        known = self.by_name.get(self.name_for(item))
        return known.retry.longest.total_seconds() if known else 60.0

    @property
    def horizon(self) -> float:
        """Seconds from a message's first attempt to its last, with the most patient handler."""
        known = (*self.by_name.values(), *self.jobs.values())
        return max(map(_horizon, known), default=0.0)

    def streams(self, serves: Callable[[str], bool]) -> list[str]:
        """What to claim from: the outbox of each context, and each handler's own."""
        contexts = {handler.context for handler in self.by_name.values()}
        contexts |= {kind.partition("/")[0] for kind in self.registers} - {"*"}
        known = {stream_name(context) for context in contexts}
        known |= {handler.stream for handler in self.by_name.values()}
        known |= {handler.stream for handler in self.jobs.values()}
        return sorted(stream for stream in known if serves(stream))

    @classmethod
    def of(cls, app: Todoke, jobs: Mapping[str, JobHandler]) -> Handlers:
        by_name: dict[str, Handler] = {}
        for context in app.contexts:
            for wish in context.wishes:
                handler = handler_of(app, context, wish)
                if (other := by_name.get(handler.name)) is not None:
                    raise DuplicateName(
                        "handler", handler.name, place(other.function), place(wish.function)
                    )
                by_name[handler.name] = handler
        refuse_cycles(by_name.values())
        registers: dict[str, dict[str, str]] = {}
        classes: dict[str, type[Event]] = {}
        bounds: dict[str, Bounds] = {}
        for handler in by_name.values():
            _agree(bounds, handler)
            for event in handler.events:
                kind = event.declared.kind
                registers.setdefault(kind, {})[handler.name] = handler.stream
                classes[kind] = _newest(event, classes.get(kind))
        for job in jobs.values():
            _agree(bounds, job)
        return cls(by_name, registers, classes, bounds, jobs, job_schedules(app, jobs))


class Fate:
    """Asks the handlers, which are known only later."""

    def __init__(self, handlers: Callable[[], Handlers]) -> None:
        self._handlers = handlers

    def followers(self, item: Item) -> str:
        return self._handlers().followers(item)

    def longest_wait(self, item: Item) -> float:
        return self._handlers().longest_wait(item)


def surrounded(app: Todoke, function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in app.surroundings.values():
        function = decorate(function)
    return function


def handler_of(app: Todoke, context: Context, wish: Wish) -> Handler:
    """The handler that was wished for; refuses what could not run."""
    owner = f"handler {wish.name!r} ({place(wish.function)})"
    if not isinstance(wish.name, str) or len(wish.name) > 200:
        raise InvalidOption(owner, wish.name, "a name is text of at most 200 characters.")
    options = {**wish.options, **app.settings.for_handler(wish.name)}
    is_async = inspect.iscoroutinefunction(wish.function)
    first, *rest = _parameters(wish, owner)
    _check_event(first, wish, owner)
    parameters = tuple(rest)
    session = session_parameter(parameters, owner, is_async=is_async)
    check_injected(app, context, parameters, session, owner)
    on_crash = options["on_crash"]
    if on_crash not in ("retry", "ask"):
        raise InvalidOption(f"{owner} on_crash", on_crash, '"retry" or "ask".')
    return Handler(
        name=wish.name,
        context=context.name,
        function=surrounded(app, wish.function),
        events=wish.events,
        parameters=parameters,
        is_async=is_async,
        retry=policy(options["retry"], app.settings.retry_policies, f"{owner} retry"),
        timeout=seconds(
            options["timeout"] or app.settings.get("worker.timeout"), f"{owner} timeout"
        ),
        on_crash=on_crash,
        middleware=(*app.middlewares, *(context.middlewares if context is not app else ())),
        classifiers=(*context.classifiers, *(app.classifiers if context is not app else ())),
        publishes=wish.options["publishes"],
        session_parameter=session,
        queue=queue_name(options["queue"], owner),
        followers=_followers(options["followers"], owner),
        bounds=bounds_of(wish.name, options["limit"], options["breaker"]),
    )


def _horizon(handler: Handler) -> float:
    attempts = handler.retry.attempts or len(handler.retry.delays) + 1
    return handler.retry.horizon + attempts * handler.timeout


def queue_name(wish: object, owner: str) -> str:
    if wish is None:
        return DEFAULT_QUEUE
    if not isinstance(wish, str) or not wish or "/" in wish or len(wish) > 100:
        raise InvalidOption(f"{owner} queue", wish, 'a name without "/", such as "files".')
    return wish


def _followers(wish: object, owner: str) -> str | None:
    if wish not in (None, "park", "skip", "block"):
        raise InvalidOption(f"{owner} followers", wish, "park, skip or block.")
    return wish


def _agree(known: dict[str, Bounds], handler: Handler) -> None:
    if handler.bounds is None:
        return
    other = known.setdefault(handler.bounds.destination, handler.bounds)
    if other != handler.bounds:
        raise InvalidOption(
            f"{handler.where} limit, breaker",
            handler.bounds.destination,
            "another handler of this destination has other bounds. Declare them once and use "
            "the same for both.",
        )


def _parameters(wish: Wish, owner: str) -> list[Parameter]:
    found = parameters_of(wish.function, owner)
    if not found:
        raise InvalidOption(owner, "()", "its first parameter takes the event.")
    return found


def _check_event(first: Parameter, wish: Wish, owner: str) -> None:
    taken = get_args(first.kind) or (first.kind,)
    for event in wish.events:
        if not any(isinstance(kind, type) and issubclass(event, kind) for kind in taken):
            raise InvalidOption(
                f"{owner} {first.name}",
                getattr(first.kind, "__name__", first.kind),
                f"is registered for {event.__name__}, which its first parameter does not take. "
                f"Annotate it with {event.__name__}, or register it for another.",
            )


def check_injected(
    app: Todoke,
    context: Context,
    parameters: tuple[Parameter, ...],
    session: str | None,
    owner: str,
    *,
    own: tuple[Any, ...] = (Attempt, Message),
) -> None:
    """Refuse what nobody provides."""
    asked = [one for one in parameters if one.name != session and one.kind not in own]
    name = None if context is app else context.name
    app.providers.check(asked, name, owner)


def _newest(event: type[Event], known: type[Event] | None) -> type[Event]:
    if known is None or event.declared.version >= known.declared.version:
        return event
    return known
