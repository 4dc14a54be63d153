"""Mistakes in a handler's declaration are found when the application is built, and explained."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped, application
from tests.work.test_injection import Connected, Mailer
from todoke import Attempt, Todoke
from todoke.errors import (
    DuplicateName,
    InvalidOption,
    TodokeError,
    UnknownDependency,
    UnknownEvent,
    WrongSession,
)


@pytest.fixture
def app() -> Any:
    with application("sqlite://") as app:
        yield app


def refusal(app: Todoke, error: type[TodokeError]) -> str:
    with pytest.raises(error) as refused:
        _ = app.handlers
    return str(refused.value)


def test_what_nobody_provides_is_named_with_the_remedy(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed)
    def send(event: Placed, mail: Mailer) -> None: ...

    told = refusal(app, UnknownDependency)
    assert re.search(
        r"handler 'send' \(.*test_handler_checks\.py:\d+\) asks for mail: Mailer", told
    )
    assert "Write `@app.provide` on a function that returns or yields Mailer." in told


def test_what_a_provider_lacks_is_named_too(app: Todoke) -> None:
    """ER-1"""

    @app.provide
    def connected(mail: Mailer) -> Connected:
        return Connected()

    @app.on(Placed)
    def send(event: Placed, mail: Connected) -> None: ...

    assert "provider 'connected'" in refusal(app, UnknownDependency)


def test_a_value_of_the_process_cannot_stand_on_one_of_an_attempt(app: Todoke) -> None:
    """ER-1"""

    @app.provide(scope="attempt")
    def mailer() -> Mailer:
        return Mailer()

    @app.provide
    def connected(mail: Mailer) -> Connected:
        return Connected()

    @app.on(Placed)
    def send(event: Placed, mail: Connected) -> None: ...

    assert "lives for one attempt only" in refusal(app, InvalidOption)


def test_a_session_in_an_async_handler_is_refused(app: Todoke) -> None:
    """api 3.11"""

    @app.on(Placed)
    async def take(event: Placed, session: Session) -> None: ...

    told = refusal(app, WrongSession)
    assert "is `async def` and asks for Session, which would block the event loop" in told
    assert told.endswith("Ask for AsyncSession, or make it `def`.")


def test_an_async_session_in_a_plain_handler_is_refused(app: Todoke) -> None:
    """api 3.11"""

    @app.on(Placed)
    def take(event: Placed, session: AsyncSession) -> None: ...

    assert refusal(app, WrongSession).endswith("Ask for Session, or make it `async def`.")


def test_two_handlers_of_one_name_are_refused(app: Todoke) -> None:
    """OB-2"""

    @app.on(Placed, name="mail")
    def one(event: Placed) -> None: ...

    @app.on(Placed, name="mail")
    def two(event: Placed) -> None: ...

    assert "give one of them another `name=`" in refusal(app, DuplicateName)


def test_a_number_without_a_unit_is_refused(app: Todoke) -> None:
    """api 3.11"""

    @app.on(Placed, timeout=300)  # type: ignore[call-overload, untyped-decorator]
    def send(event: Placed) -> None: ...

    assert 'a number has no unit. Write "300s" or "5m".' in refusal(app, InvalidOption)


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"retry": "mial"}, "Known: broker-order, default, job, mail."),
        ({"on_crash": "aks"}, '"retry" or "ask".'),
        ({"timeout": "soon"}, 'Write "250ms", "30s"'),
    ],
)
def test_an_option_that_cannot_be_meant_is_refused(
    app: Todoke, options: dict[str, Any], remedy: str
) -> None:
    """ER-2"""

    @app.on(Placed, **options)
    def send(event: Placed) -> None: ...

    assert remedy in refusal(app, InvalidOption)


def test_a_first_parameter_of_another_event_is_refused(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed)  # type: ignore[arg-type]
    def send(event: Shipped) -> None: ...

    assert "is registered for Placed" in refusal(app, InvalidOption)


def test_a_handler_without_a_parameter_is_refused(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed)  # type: ignore[arg-type]
    def send() -> None: ...

    assert "its first parameter takes the event" in refusal(app, InvalidOption)


def test_an_untyped_parameter_is_refused(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed)
    def send(event: Placed, mail) -> None: ...  # type: ignore[no-untyped-def]

    assert "needs an annotation" in refusal(app, InvalidOption)


def test_collected_parameters_are_refused(app: Todoke) -> None:
    """ER-1"""

    @app.on(Placed)
    def send(event: Placed, *rest: Attempt) -> None: ...

    assert "one by one" in refusal(app, InvalidOption)


def test_a_handler_of_no_event_is_refused_where_it_stands(app: Todoke) -> None:
    """ER-1"""
    with pytest.raises(InvalidOption, match="name at least one event class"):
        app.on()  # type: ignore[call-overload]


def test_a_handler_of_something_else_is_refused_where_it_stands(app: Todoke) -> None:
    """ER-1"""
    with pytest.raises(UnknownEvent, match=re.escape("Derive its class from todoke.Event")):
        app.on(str)  # type: ignore[type-var]


def test_middleware_must_be_async(app: Todoke) -> None:
    """ER-1"""
    with pytest.raises(InvalidOption, match="must be `async def`"):

        @app.middleware  # type: ignore[type-var]
        def timed(attempt: Attempt, call_next: Any) -> None: ...


def test_a_provider_says_what_it_provides(app: Todoke) -> None:
    """ER-1"""
    with pytest.raises(InvalidOption, match="return annotation"):

        @app.provide
        def mailer():  # type: ignore[no-untyped-def]
            ...


def test_an_error_class_that_does_not_exist_is_refused(app: Todoke) -> None:
    """ER-1"""
    with pytest.raises(InvalidOption, match="permanent, transient, business or timeout"):
        app.classify(OSError, "fatal")  # type: ignore[arg-type]


def test_an_operator_may_override_what_the_code_says(app: Todoke) -> None:
    """ER-2"""
    with application("sqlite://", settings={"handlers.mail.timeout": "5s"}) as other:

        @other.on(Placed, name="mail", timeout="1h")
        def send(event: Placed) -> None: ...

        assert other.handlers.by_name["mail"].timeout == 5


class Left:
    """Provided by what asks for Right."""


class Right:
    """Provided by what asks for Left."""


def test_providers_that_ask_for_each_other_are_refused(app: Todoke) -> None:
    """api 3.5: checked at start, not at the first message"""

    @app.provide
    def left(right: Right) -> Left:
        return Left()

    @app.provide
    def right(left: Left) -> Right:
        return Right()

    @app.on(Placed)
    def handle(event: Placed, left: Left) -> None: ...

    assert "ask for each other in a ring" in refusal(app, InvalidOption)


def test_a_name_that_does_not_fit_its_column_is_refused(app: Todoke) -> None:
    """OB-2"""

    @app.on(Placed, name="x" * 201)
    def handle(event: Placed) -> None: ...

    assert "at most 200 characters" in refusal(app, InvalidOption)


@pytest.mark.parametrize(
    ("name", "value"),
    [("lease.renew", "15s"), ("outbox.poll", "0s"), ("lease.duration", "0s")],
)
def test_a_pace_that_cannot_be_kept_is_refused(app: Todoke, name: str, value: str) -> None:
    """OB-5 OB-7: a lease that is renewed too late, a poll that never rests"""
    app.settings = app.settings.with_values({name: value})
    with pytest.raises(InvalidOption, match=name):
        app.drain()
