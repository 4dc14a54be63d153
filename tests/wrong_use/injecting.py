"""Functions that ask for what they cannot be given, or cannot be called at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.wrong_use.misuse import Mailer, Placed, Shipped, misuse, with_handler
from todoke import Event
from todoke.errors import InvalidOption, UnknownDependency, WrongSession

if TYPE_CHECKING:
    from decimal import Decimal

HERE = "injecting.py:"


def with_provider(*functions: Any, asks: Any, **options: Any) -> Any:
    def register(app: Any) -> None:
        for function in functions:
            app.provide(**options)(function)
        with_handler(asks)(app)

    return register


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


INJECTING = [
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
]
