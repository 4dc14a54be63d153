"""Where an event goes: to its one handler, to each of several, or to the dead letters."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from tests.application import (
    Placed,
    Shipped,
    deliveries,
    leases,
    letters,
    living,
    publish,
    register,
    statuses,
)
from todoke import Attempt, Backoff, Context, Event, Key, Todoke
from todoke.runtime import Runtime
from todoke.testing import Clock


class Moved(Event, type="moved", context="stock"):
    item_id: Key[int]


class MovedHouse(Event, type="moved", context="crm"):
    person_id: Key[int]


class Told(Event, type="told", version=1):
    text: Key[str]


class ToldAloud(Event, type="told", version=2):
    text: Key[str]
    loudness: int = 1


def the_grace_time_passes(app: Todoke, clock: Clock) -> None:
    """A minute, in which it is looked at every five seconds."""
    for _ in range(13):
        clock.advance("5s")
        app.drain()


def test_each_of_several_handlers_has_its_own_delivery(app: Todoke) -> None:
    """OB-4 OB-8"""
    seen: list[str] = []
    for name in ("mail", "count", "audit"):

        @app.on(Placed, name=name)
        def note(event: Placed, attempt: Attempt) -> None:
            seen.append(attempt.name)

    publish(app, Placed(order_id=1))
    app.drain()
    assert sorted(seen) == ["audit", "count", "mail"]
    assert (living(app), deliveries(app)) == ([], [])


def test_each_delivery_has_its_own_retries_and_its_own_death(app: Todoke, clock: Clock) -> None:
    """OB-8 ER-3"""
    seen: list[str] = []

    @app.on(Placed, name="well")
    def well(event: Placed) -> None:
        seen.append("well")

    @app.on(Placed, name="ill", retry=Backoff("1s"))
    def ill(event: Placed) -> None:
        seen.append("ill")
        raise OSError

    publish(app, Placed(order_id=1))
    app.drain()
    clock.advance("2s")
    app.drain()
    (letter,) = letters(app)
    assert sorted(seen) == ["ill", "ill", "well"]
    assert (letter.source, letter.name, letter.attempts) == ("delivery", "ill", 2)


def test_every_delivery_carries_the_events_own_id(app: Todoke) -> None:
    """OB-4"""
    seen: set[str] = set()
    for name in ("mail", "count"):

        @app.on(Placed, name=name)
        def note(event: Placed, attempt: Attempt) -> None:
            seen.add(str(attempt.message.id))

    publish(app, Placed(order_id=1))
    (row,) = living(app)
    app.drain()
    assert seen == {str(row.message_id)}


def test_an_event_nobody_knows_is_dead_at_once_where_the_worker_is_alone(app: Todoke) -> None:
    """OB-10"""
    publish(app, Placed(order_id=1))
    app.drain()
    (letter,) = letters(app)
    assert (letter.code, letter.attempts) == ("NO_HANDLER", 1)
    assert "Deploy one that has, then redrive" in letter.message


def test_it_has_time_while_another_worker_lives(app: Todoke, clock: Clock) -> None:
    """OB-10"""
    other = Live(app)
    publish(app, Placed(order_id=1))
    for _ in range(12):
        other.drain()
        assert letters(app) == []
        clock.advance("5s")
    other.drain()
    assert [(one.code, one.attempts) for one in letters(app)] == [("NO_HANDLER", 1)]


class Live:
    """An application that shares its database with another live worker process."""

    def __init__(self, app: Todoke, **handlers: list[str]) -> None:
        self._app, self._handlers = app, handlers

    def drain(self) -> None:
        register(self._app, 15, **self._handlers)
        Runtime(self._app, leases=leases(self._app)).drain()


def test_a_handler_that_only_another_worker_has_gets_its_delivery(app: Todoke) -> None:
    """OB-10: a rolling deployment kills nothing"""
    publish(app, Placed(order_id=1))
    Live(app, placed=["newcomer"]).drain()
    assert [row.handler for row in deliveries(app)] == ["newcomer"]
    assert letters(app) == []


def test_a_delivery_whose_handler_is_gone_for_good_dies(app: Todoke, clock: Clock) -> None:
    """OB-10"""
    publish(app, Placed(order_id=1))
    Live(app, placed=["newcomer"]).drain()
    the_grace_time_passes(app, clock)
    assert [(one.source, one.name, one.code) for one in letters(app)] == [
        ("delivery", "newcomer", "NO_HANDLER")
    ]


def test_a_newer_version_waits_for_a_worker_that_knows_it(app: Todoke, clock: Clock) -> None:
    """OB-10 OB-2"""

    @app.on(Told)
    def listen(event: Told) -> None: ...

    publish(app, ToldAloud(text="hello"))
    app.drain()
    assert statuses(app) == [("PENDING", 0)]
    the_grace_time_passes(app, clock)
    (letter,) = letters(app)
    assert letter.code == "UNKNOWN_VERSION"
    assert "has version 2" in letter.message
    assert "knows up to 1" in letter.message


def test_each_version_is_read_by_its_own_class(app: Todoke) -> None:
    """OB-2"""
    seen: list[str] = []

    @app.on(ToldAloud, Told)
    def listen(event: ToldAloud | Told) -> None:
        seen.append(type(event).__name__)

    publish(app, Told(text="a"), ToldAloud(text="a"))
    app.drain()
    assert seen == ["Told", "ToldAloud"]


def test_one_type_name_in_two_contexts_is_two_types(app: Todoke) -> None:
    """OB-11"""
    seen: list[str] = []

    @app.on(MovedHouse, Moved)
    def note(event: MovedHouse | Moved) -> None:
        seen.append(type(event).__name__)

    publish(app, Moved(item_id=1), MovedHouse(person_id=1))
    app.drain()
    assert (sorted(seen), letters(app)) == (["Moved", "MovedHouse"], [])


def test_an_event_past_its_last_moment_is_not_delivered(app: Todoke, clock: Clock) -> None:
    """OB-13"""
    seen: list[int] = []

    @app.on(Placed)
    def note(event: Placed) -> None:
        seen.append(event.order_id)

    publish(app, Placed(order_id=1), expires="1m")
    publish(app, Placed(order_id=2), expires="2m")
    clock.advance("60s")
    app.drain()
    assert (seen, [(one.key, one.code) for one in letters(app)]) == ([2], [("1", "EXPIRED")])


def test_a_body_that_cannot_be_read_is_dead_and_says_where(app: Todoke) -> None:
    """ER-3 SE-2"""

    @app.on(Placed)
    def note(event: Placed) -> None: ...

    publish(app, Placed(order_id=1))
    with app.engine.begin() as connection:
        connection.execute(
            update(app.outbox_table.live).values(body='{"order_id":"mika@example.jp"}')
        )
    app.drain()
    (letter,) = letters(app)
    assert letter.code == "INVALID_PAYLOAD"
    assert "order_id: Input should be a valid integer" in letter.message
    assert "mika" not in letter.message


def test_a_contexts_events_carry_its_name(app: Todoke) -> None:
    """OB-11"""
    ordering = Context("ordering")
    app.include(ordering)
    with app.session() as session:
        ordering.publish(session, Shipped())
    assert [row.context for row in living(app)] == ["ordering"]


def test_what_a_handler_answers_belongs_to_its_context(app: Todoke) -> None:
    """OB-11"""
    ordering = Context("ordering")
    app.include(ordering)

    @ordering.on(Placed)
    def ship(event: Placed) -> Shipped:
        return Shipped()

    publish(app, Placed(order_id=1))
    app.drain()
    assert [letter.context for letter in letters(app)] == ["ordering"]


@pytest.mark.parametrize("layers", [1, 3])
def test_middleware_wraps_the_handler_outermost_first(app: Todoke, layers: int) -> None:
    """api 3.5"""
    told: list[str] = []

    def layer(name: str) -> None:
        @app.middleware
        async def around(attempt, call_next):  # type: ignore[no-untyped-def]
            told.append(f"> {name}")
            outcome = await call_next(attempt)
            told.append(f"< {name}")
            return outcome

    for number in range(layers):
        layer(str(number))

    @app.on(Placed)
    def note(event: Placed) -> None:
        told.append("handler")

    publish(app, Placed(order_id=1))
    app.drain()
    names = [str(number) for number in range(layers)]
    assert told == [*(f"> {n}" for n in names), "handler", *(f"< {n}" for n in reversed(names))]


def test_an_applications_middleware_is_outside_a_contexts(app: Todoke) -> None:
    """api 3.5"""
    told: list[str] = []
    ordering = Context("ordering")
    app.include(ordering)
    for of, name in ((ordering, "context"), (app, "application")):

        @of.middleware
        async def around(attempt, call_next, name=name):  # type: ignore[no-untyped-def]
            told.append(name)
            return await call_next(attempt)

    @ordering.on(Placed)
    async def note(event: Placed) -> None:
        told.append("handler")

    publish(app, Placed(order_id=1))
    app.drain()
    assert told == ["application", "context", "handler"]
