"""What handlers declare to publish: rings are refused at start, the undeclared when it runs."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from tests.application import Placed, Shipped, application, letters, living, publish
from todoke import BusinessError, Context, Event, Key, Todoke
from todoke.errors import EventCycle, InvalidOption, UnknownEvent


class Reserved(Event):
    order_id: Key[int]


class Repriced(Event, context="pricing"):
    order_id: Key[int]


@pytest.fixture
def app() -> Any:
    with application("sqlite://") as app:
        yield app


def links(context: Context, *pairs: tuple[type[Event], type[Event]]) -> None:
    """A handler for each pair, that takes the first and publishes the second."""
    for takes, gives in pairs:

        @context.on(takes, name=f"after-{takes.declared.type}", publishes=[gives])
        def handle(event: Event) -> None: ...


def test_a_ring_of_events_is_refused_before_the_first_message(app: Todoke) -> None:
    """SG-10: with the whole ring, and what to do"""
    links(app, (Shipped, Placed), (Placed, Reserved), (Reserved, Placed))
    with pytest.raises(EventCycle) as refused:
        app.drain()
    assert str(refused.value) == (
        "Placed -> 'after-placed' -> Reserved -> 'after-reserved' -> Placed never ends. "
        "Take one of them out of `publishes=`, and do not publish it there."
    )


def test_a_handler_that_publishes_what_it_takes_is_a_ring(app: Todoke) -> None:
    """SG-10"""
    links(app, (Placed, Placed))
    with pytest.raises(EventCycle, match=r"^Placed -> 'after-placed' -> Placed never"):
        _ = app.handlers


def test_a_ring_through_several_contexts_is_found(app: Todoke) -> None:
    """SG-10"""
    pricing = Context("pricing")
    links(app, (Placed, Repriced))
    links(pricing, (Repriced, Placed))
    app.include(pricing)
    with pytest.raises(EventCycle, match="'after-repriced'"):
        _ = app.handlers


def test_ways_that_meet_again_are_no_ring(app: Todoke) -> None:
    """SG-10: two handlers of one event publish the same"""
    links(app, (Placed, Reserved), (Reserved, Shipped))

    @app.on(Placed, name="straight", publishes=[Shipped])
    def straight(event: Placed) -> None: ...

    assert len(app.handlers.by_name) == 3


def test_an_event_of_another_context_with_the_same_type_is_no_ring(app: Todoke) -> None:
    """SG-10: a handler takes only the events of the context that its class names"""

    class Elsewhere(Event, type="repriced", context="elsewhere"):
        order_id: Key[int]

    links(app, (Repriced, Elsewhere))
    assert len(app.handlers.by_name) == 1


@pytest.mark.parametrize(
    ("publishes", "error", "remedy"),
    [
        ([str], UnknownEvent, "Derive its class from todoke.Event"),
        ([Placed(order_id=1)], UnknownEvent, "Name the class: Placed"),
        (Placed, InvalidOption, r"write \[Placed\]"),
    ],
)
def test_only_event_classes_can_be_declared(
    app: Todoke, publishes: Any, error: type[Exception], remedy: str
) -> None:
    """SG-10"""
    with pytest.raises(error, match=remedy):
        app.on(Placed, publishes=publishes)


def test_what_is_declared_may_be_answered(app: Todoke) -> None:
    """SG-10"""

    @app.on(Placed, publishes=[Reserved])
    def reserve(event: Placed) -> Reserved:
        return Reserved(order_id=event.order_id)

    seen: list[int] = []

    @app.on(Reserved)
    def count(event: Reserved) -> None:
        seen.append(event.order_id)

    publish(app, Placed(order_id=1))
    app.drain()
    assert (seen, letters(app)) == ([1], [])


def test_an_event_that_was_not_declared_is_refused_and_the_message_kept(app: Todoke) -> None:
    """SG-10 ER-3: a dead letter with its payload; nothing was published, nothing written"""

    @app.on(Placed, publishes=[Reserved])
    def reserve(event: Placed, session: Session) -> Event:
        session.execute(text("CREATE TABLE half (id INTEGER)"))
        return Shipped(order_id=event.order_id)

    publish(app, Placed(order_id=7))
    app.drain()
    (letter,) = letters(app)
    assert (letter.code, letter.error_class) == ("UNDECLARED_EVENT", "permanent")
    assert "publishes Shipped" in letter.message
    assert "Add Shipped to `publishes=`" in letter.message
    assert living(app) == []
    with app.session() as session:
        query = text("SELECT count(*) FROM sqlite_master WHERE name = 'half'")
        assert session.execute(query).scalar() == 0


def test_a_business_error_publishes_only_what_was_declared(app: Todoke) -> None:
    """SG-10 ER-1"""

    @app.on(Placed, publishes=[])
    def refuse(event: Placed) -> None:
        raise BusinessError("no credit", publish=Shipped(order_id=event.order_id))

    publish(app, Placed(order_id=7))
    app.drain()
    assert [letter.code for letter in letters(app)] == ["UNDECLARED_EVENT"]
    assert living(app) == []
