"""Events, handlers and policies that are declared in wrong ways."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.wrong_use.misuse import Placed, Shipped, misuse, start, with_handler
from todoke import Attempt, Backoff, Breaker, Context, Event, Key, Limit, Rate, Snooze
from todoke.errors import DuplicateName, EventCycle, InvalidOption, UnknownEvent

HERE = "declaring.py:"


def fine(event: Placed) -> None: ...
def other_event(event: Shipped) -> None: ...


def two_names(app: Any) -> None:
    app.on(Placed, name="mail")(fine)
    with_handler(other_event_of_its_own, name="mail")(app)


def other_event_of_its_own(event: Placed) -> None: ...


def ring_of_events(app: Any) -> None:
    app.on(Placed, name="ship", publishes=[Shipped])(fine)
    app.on(Shipped, name="place", publishes=[Placed])(other_event)
    start(app)


def bounds_that_differ(app: Any) -> None:
    app.on(Placed, name="one", limit=Limit(1), breaker=Breaker("psp"))(fine)
    app.on(Placed, name="two", limit=Limit(2), breaker=Breaker("psp"))(fine)
    start(app)


def two_keys(app: Any) -> None:
    class Twice(Event):
        order_id: Key[int]
        customer_id: Key[int]


def misspelt_keyword(app: Any) -> None:
    class Misspelt(Event, contxt="shop"):
        order_id: Key[int]


def version_as_text(app: Any) -> None:
    class Versioned(Event, version="2"):
        order_id: Key[int]


def plain_middleware(app: Any) -> None:
    @app.middleware  # type: ignore[untyped-decorator]
    def timed(attempt: Attempt, call_next: Any) -> None: ...


def function_under_on(app: Any) -> None:
    @app.on  # type: ignore[untyped-decorator]
    def send(event: Placed) -> None: ...


def retry_of_a_context(app: Any) -> None:
    context = Context("shop", retry="mial")
    context.on(Placed)(fine)
    app.include(context)
    start(app)


DECLARING = [
    misuse("two keys", two_keys, InvalidOption, "class Twice: Key", "Mark one of them"),
    misuse(
        "a misspelt keyword of an event class",
        misspelt_keyword,
        InvalidOption,
        "class Misspelt = ['contxt']",
        "Known: type, version, context",
    ),
    misuse(
        "a version that is no number",
        version_as_text,
        InvalidOption,
        "class Versioned: version = '2'",
        "whole number",
    ),
    misuse(
        "two handlers of one name",
        two_names,
        DuplicateName,
        "'mail'",
        HERE,
        "another `name=`",
    ),
    misuse(
        "a ring of events",
        ring_of_events,
        EventCycle,
        "Placed -> 'ship' -> Shipped -> 'place' -> Placed never ends",
        "Take one of them out of `publishes=`",
    ),
    misuse(
        "one destination with two limits",
        bounds_that_differ,
        InvalidOption,
        "handler 'two'",
        HERE,
        "'psp'",
        "use the same for both",
    ),
    misuse(
        "a time limit without a unit",
        with_handler(fine, timeout=300),
        InvalidOption,
        "handler 'fine'",
        HERE,
        "timeout = 300",
        'Write "300s" or "5m"',
    ),
    misuse(
        "a retry policy that nobody knows",
        with_handler(fine, retry="mial"),
        InvalidOption,
        "handler 'fine'",
        HERE,
        "retry = 'mial'",
        "Known: broker-order, default, job, mail",
    ),
    misuse(
        "a retry policy of a context that nobody knows",
        retry_of_a_context,
        InvalidOption,
        "handler 'fine'",
        "retry = 'mial'",
        "Known: broker-order",
    ),
    misuse(
        "a misspelt option of a handler",
        with_handler(fine, retires="mail"),
        TypeError,
        "on()",
        "unexpected keyword argument 'retires'",
    ),
    misuse(
        "a word that followers do not know",
        with_handler(fine, followers="stop"),
        InvalidOption,
        HERE,
        "followers = 'stop'",
        "park, skip or block",
    ),
    misuse(
        "a word that on_crash does not know",
        with_handler(fine, on_crash="aks"),
        InvalidOption,
        HERE,
        "on_crash = 'aks'",
        '"retry" or "ask"',
    ),
    misuse(
        "a queue with a slash",
        with_handler(fine, queue="a/b"),
        InvalidOption,
        HERE,
        "queue = 'a/b'",
        'without "/"',
    ),
    misuse(
        "a limit that is a number",
        with_handler(fine, limit=4),
        InvalidOption,
        "fine: limit = 4",
        "write Limit(4)",
    ),
    misuse(
        "one event class instead of a list",
        with_handler(fine, publishes=Shipped),
        InvalidOption,
        "publishes",
        "write [Shipped]",
    ),
    misuse(
        "a name that is no text",
        with_handler(fine, name=3),
        InvalidOption,
        HERE,
        "a name is text",
    ),
    misuse(
        "a handler of an instance",
        lambda app: app.on(Placed(order_id=1)),
        UnknownEvent,
        "an instance of Placed is not an event class",
        "Name the class: Placed",
    ),
    misuse(
        "a handler of nothing",
        lambda app: app.on(),
        InvalidOption,
        "name at least one event class",
    ),
    misuse(
        "@on without its event",
        function_under_on,
        UnknownEvent,
        "function send is not an event",
        "Write `@app.on(OrderPlaced)`",
    ),
    misuse(
        "middleware that is not async",
        plain_middleware,
        InvalidOption,
        HERE,
        "'timed'",
        "must be `async def`",
    ),
    misuse(
        "an error class that is none",
        lambda app: app.classify(OSError, "fatal"),
        InvalidOption,
        "classify(OSError) = 'fatal'",
        "permanent, transient, business or timeout",
    ),
    misuse(
        "an exception instead of its class",
        lambda app: app.classify(OSError(), "permanent"),
        InvalidOption,
        "classify = OSError()",
        "name a class of exceptions",
    ),
    misuse(
        "a wait without a unit",
        lambda _: Backoff(30),  # type: ignore[arg-type]
        InvalidOption,
        "Backoff = 30",
        'Write "30s"',
    ),
    misuse(
        "a rate of nothing",
        lambda _: Rate(0, "1m"),
        InvalidOption,
        "Rate(count) = 0",
        "at least 1",
    ),
    misuse(
        "a snooze until a time without a zone",
        lambda _: Snooze(datetime(2030, 1, 1)),  # noqa: DTZ001
        InvalidOption,
        "Snooze(until) = '2030-01-01",
        "Use datetime.now(UTC)",
    ),
]
