"""Handlers get what their annotations ask for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Placed, letters, living, publish, statuses
from todoke import Attempt, Context, Message, Settings, Todoke
from todoke.testing import Clock


class Mailer:
    """Something that handlers ask for."""

    def __init__(self, name: str = "") -> None:
        self.name = name


class Connected(Mailer):
    """Something a provider makes of something else."""


def drain(app: Todoke, *orders: int) -> None:
    publish(app, *(Placed(order_id=order) for order in orders or (1,)))
    app.drain()


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_def_and_async_def_handlers_get_the_same(app: Todoke, is_async: bool) -> None:
    """OB-4"""
    seen: list[Any] = []
    app.provide(made_mailer)

    def take(
        event: Placed, attempt: Attempt, message: Message[Placed], settings: Settings, mail: Mailer
    ) -> None:
        seen.extend([event, attempt.number, message.key, settings.env, mail.name])

    async def take_async(
        event: Placed, attempt: Attempt, message: Message[Placed], settings: Settings, mail: Mailer
    ) -> None:
        take(event, attempt, message, settings, mail)

    app.on(Placed)(take_async if is_async else take)
    drain(app)
    assert seen == [Placed(order_id=1), 1, "1", "dev", "made"]


def made_mailer() -> Mailer:
    return Mailer("made")


def test_every_attempt_has_the_same_key(app: Todoke, clock: Clock) -> None:
    """OB-4"""
    seen: list[tuple[int, int | None, str]] = []

    @app.on(Placed, name="mail")
    def fail(event: Placed, attempt: Attempt) -> None:
        seen.append((attempt.number, attempt.of, attempt.idempotency_key))
        raise OSError

    drain(app)
    key = f"{living(app)[0].message_id}/mail"
    clock.advance("2s")
    app.drain()
    assert seen == [(1, 4, key), (2, 4, key)]


def test_a_session_and_an_async_session_write_in_the_handlers_transaction(app: Todoke) -> None:
    """OB-1"""

    @app.on(Placed, name="plain")
    def plain(event: Placed, session: Session) -> None:
        session.execute(text("CREATE TABLE plain (id INTEGER)"))

    @app.on(Placed, name="awaited")
    async def awaited(event: Placed, session: AsyncSession) -> None:
        await session.execute(text("CREATE TABLE awaited (id INTEGER)"))

    drain(app)
    with app.session() as session:
        assert session.execute(text("SELECT count(*) FROM plain, awaited")).scalar_one() == 0


def test_a_value_of_the_process_is_made_once_and_ended_at_last(app: Todoke) -> None:
    """design 8"""
    told: list[str] = []

    @app.provide
    async def mailer() -> AsyncIterator[Mailer]:
        told.append("opened")
        yield Mailer()
        told.append("closed")

    @app.on(Placed)
    async def send(event: Placed, mail: Mailer) -> None:
        told.append(f"sent {event.order_id}")

    drain(app, 1, 2)
    assert sorted(told[1:-1]) == ["sent 1", "sent 2"]
    assert (told[0], told[-1]) == ("opened", "closed")


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_a_value_of_an_attempt_is_made_and_ended_with_each(app: Todoke, is_async: bool) -> None:
    """design 8"""
    told: list[str] = []

    @app.provide(scope="attempt")
    async def mailer() -> AsyncIterator[Mailer]:
        told.append("opened")
        yield Mailer()
        told.append("closed")

    def send(event: Placed, mail: Mailer) -> None:
        told.append(f"sent {event.order_id}")

    async def send_async(event: Placed, mail: Mailer) -> None:
        send(event, mail)

    app.on(Placed)(send_async if is_async else send)
    drain(app, 1, 2)
    assert told[::3] == ["opened"] * 2
    assert sorted(told[1::3]) == ["sent 1", "sent 2"]
    assert told[2::3] == ["closed"] * 2


def test_a_value_of_an_attempt_is_ended_when_the_attempt_fails(app: Todoke) -> None:
    """design 8"""
    told: list[str] = []

    @app.provide(scope="attempt")
    def mailer() -> Iterator[Mailer]:
        try:
            yield Mailer()
        finally:
            told.append("closed")

    @app.on(Placed)
    def fail(event: Placed, mail: Mailer) -> None:
        raise OSError

    drain(app)
    assert (told, statuses(app)) == (["closed"], [("PENDING", 1)])


def test_providers_get_what_they_ask_for_themselves(app: Todoke) -> None:
    """design 8"""
    seen: list[str] = []
    app.provide(made_mailer)

    @app.provide(scope="attempt")
    def connected(mail: Mailer, settings: Settings) -> Connected:
        return Connected(f"{mail.name} in {settings.env}")

    @app.on(Placed)
    def send(event: Placed, mail: Connected) -> None:
        seen.append(mail.name)

    drain(app)
    assert seen == ["made in dev"]


def test_a_context_has_its_own_providers(app: Todoke) -> None:
    """design 8"""
    seen: list[str] = []
    ordering = Context("ordering")
    app.include(ordering)
    app.provide(made_mailer)

    @ordering.provide
    def own() -> Mailer:
        return Mailer("ordering's")

    @ordering.on(Placed, name="inside")
    def inside(event: Placed, mail: Mailer) -> None:
        seen.append(mail.name)

    @app.on(Placed, name="outside")
    def outside(event: Placed, mail: Mailer) -> None:
        seen.append(mail.name)

    drain(app)
    assert sorted(seen) == ["made", "ordering's"]


def test_a_provider_that_fails_is_a_failed_attempt(app: Todoke) -> None:
    """ER-1"""

    @app.provide
    def mailer() -> Mailer:
        raise ConnectionRefusedError("no mail server")

    @app.on(Placed)
    def send(event: Placed, mail: Mailer) -> None: ...

    drain(app)
    assert [row.error_code for row in living(app)] == ["CONNECTION_REFUSED_ERROR"]


def test_a_parameter_with_a_default_needs_no_provider(app: Todoke) -> None:
    """design 8"""
    seen: list[int] = []

    @app.on(Placed)
    def send(event: Placed, copies=2) -> None:  # type: ignore[no-untyped-def]
        seen.append(copies)

    drain(app)
    assert (seen, letters(app)) == ([2], [])
