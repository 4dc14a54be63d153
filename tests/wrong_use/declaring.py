"""Declaring events, handlers and providers in wrong ways."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.wrong_use.misuse import Mailer, Misuse, Placed, Shipped, start
from todoke import Attempt, Backoff, Breaker, Context, Event, Key, Limit, Rate, Snooze
from todoke.errors import (
    DuplicateName,
    EventCycle,
    InvalidOption,
    UnknownDependency,
    UnknownEvent,
    WrongSession,
)

if TYPE_CHECKING:
    from decimal import Decimal

HERE = "declaring.py:"


def with_handler(function: Any, **options: Any) -> Any:
    """Registers it for Placed, and starts."""

    def register(app: Any) -> None:
        app.on(Placed, **options)(function)
        start(app)

    return register


def with_provider(*functions: Any, asks: Any, **options: Any) -> Any:
    def register(app: Any) -> None:
        for function in functions:
            app.provide(**options)(function)
        with_handler(asks)(app)

    return register


# --- functions as people write them ----------------------------------------------------------


def fine(event: Placed) -> None: ...
def no_parameter() -> None: ...
def no_annotation(event: Placed, mailer) -> None: ...  # type: ignore[no-untyped-def]
def many(event: Placed, *mailers: Mailer) -> None: ...
def by_position(event: Placed, mailer: Mailer, /) -> None: ...
def unseen(event: Placed, price: Decimal) -> None: ...
def other_event(event: Shipped) -> None: ...
def session_first(session: Session, event: Placed) -> None: ...
def asks_for_mailer(event: Placed, mailer: Mailer) -> None: ...
def asks_for_async_session(event: Placed, session: AsyncSession) -> None: ...
async def asks_for_session(event: Placed, session: Session) -> None: ...
def two_sessions(event: Placed, first: Session, second: Session) -> None: ...


def yields(event: Placed) -> Iterator[Event]:
    yield Shipped()


class Left: ...


class Right: ...


def left(right: Right) -> Left:
    return Left()


def right(left: Left) -> Right:
    return Right()


def asks_for_left(event: Placed, left: Left) -> None: ...
def unnamed_provider(): ...  # type: ignore[no-untyped-def]
def nothing_provider() -> None: ...


def mailer_for_attempt() -> Mailer:
    return Mailer()


def left_of_mailer(mailer: Mailer) -> Left:
    return Left()


def scopes(app: Any) -> None:
    app.provide(scope="attempt")(mailer_for_attempt)
    app.provide(left_of_mailer)
    with_handler(asks_for_left)(app)


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


def misuse(what: str, do: Any, error: type[Exception], *words: str) -> Misuse:
    return Misuse(what, do, error, words)


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
        "a handler without a parameter",
        with_handler(no_parameter),
        InvalidOption,
        "handler 'no-parameter' (",
        HERE,
        "its first parameter takes the event",
    ),
    misuse(
        "a parameter without an annotation",
        with_handler(no_annotation),
        InvalidOption,
        HERE,
        "'mailer'",
        "needs an annotation",
    ),
    misuse(
        "parameters that are collected",
        with_handler(many),
        InvalidOption,
        HERE,
        "'*mailers'",
        "one by one",
    ),
    misuse(
        "a parameter that cannot be given by name",
        with_handler(by_position),
        InvalidOption,
        HERE,
        "'mailer'",
        "Put the `/` before it",
    ),
    misuse(
        "a type that only the checker sees",
        with_handler(unseen),
        InvalidOption,
        HERE,
        "'Decimal'",
        "Import it outside of `if TYPE_CHECKING:`",
    ),
    misuse(
        "a first parameter of another event",
        with_handler(other_event),
        InvalidOption,
        HERE,
        "'Shipped'",
        "is registered for Placed",
        "Annotate it with Placed",
    ),
    misuse(
        "the session before the event",
        with_handler(session_first),
        InvalidOption,
        HERE,
        "'Session'",
        "which its first parameter does not take",
    ),
    misuse(
        "a handler that yields",
        with_handler(yields),
        InvalidOption,
        HERE,
        "'yields'",
        "Return the events",
    ),
    misuse("a class as a handler", with_handler(Left), InvalidOption, "'Left'", "is no function"),
    misuse(
        "what nobody provides",
        with_handler(asks_for_mailer),
        UnknownDependency,
        HERE,
        "asks for mailer: Mailer",
        "Write `@app.provide` on a function that returns or yields Mailer",
    ),
    misuse(
        "providers that ask for each other",
        with_provider(left, right, asks=asks_for_left),
        InvalidOption,
        HERE,
        "ask for each other in a ring: left -> right -> left",
        "Make one without the other",
    ),
    misuse(
        "a provider that does not say what it provides",
        with_provider(unnamed_provider, asks=fine),
        InvalidOption,
        "provider 'unnamed_provider'",
        HERE,
        "say by a return annotation",
    ),
    misuse(
        "a provider of nothing",
        with_provider(nothing_provider, asks=fine),
        InvalidOption,
        "provider 'nothing_provider'",
        HERE,
        "say by a return annotation",
    ),
    misuse(
        "a scope that is none",
        with_provider(mailer_for_attempt, asks=fine, scope="request"),
        InvalidOption,
        HERE,
        "'request'",
        'scope is "process" or "attempt"',
    ),
    misuse(
        "a value of the process that asks for one of an attempt",
        scopes,
        InvalidOption,
        "provider 'left_of_mailer'",
        HERE,
        "lives for one attempt only",
        'Say scope="attempt"',
    ),
    misuse(
        "a Session in an async handler",
        with_handler(asks_for_session),
        WrongSession,
        HERE,
        "would block the event loop",
        "Ask for AsyncSession",
    ),
    misuse(
        "an AsyncSession in a plain handler",
        with_handler(asks_for_async_session),
        WrongSession,
        HERE,
        "cannot await",
        "Ask for Session",
    ),
    misuse(
        "two sessions in one handler",
        with_handler(two_sessions),
        InvalidOption,
        HERE,
        "['first', 'second']",
        "one session is enough",
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
