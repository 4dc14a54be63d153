"""Many events at once: each row as if it had been published alone, in the order of publishing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from tests.application import Noted, Placed, application, living
from todoke import Event, Key, Todoke, codec

AWKWARD = [
    "",
    'he said "yes", {a,b}, \\N and \\x1e',
    "\x01 \x1e \x1f \x7f \t \r\n",
    "NULL",
    "届け 🚚 ́ \u2028",
    "',); DROP TABLE outbox; --",
]


class Bounded(Event, ordered=False, expires="1h"):
    parcel: Key[str]


@pytest.mark.parametrize("kind", [Placed, Noted], ids=["ordered", "free"])
def test_texts_arrive_as_they_are(app: Todoke, kind: type[Placed] | type[Noted]) -> None:
    """OB-1 OB-2"""
    events = [kind(order_id=number, note=AWKWARD[number % len(AWKWARD)]) for number in range(40)]
    with app.session() as session:
        messages = app.publish_all(session, events)
    rows = living(app)
    assert [row.message_id for row in rows] == [message.id for message in messages]
    assert [row.body for row in rows] == [codec.dump(one.model_dump(mode="json")) for one in events]
    assert [row.key for row in rows] == [str(number) for number in range(40)]
    assert len({row.strand for row in rows}) == (40 if kind is Placed else 1)


def test_keys_may_be_any_text(app: Todoke) -> None:
    """OB-2"""
    keys = [f"{number} {text}" for number, text in enumerate(AWKWARD * 3)]
    with app.session() as session:
        app.publish_all(session, [Bounded(parcel=key) for key in keys])
    rows = living(app)
    assert [row.key for row in rows] == keys
    assert {row.deliver_before - row.created_at for row in rows} == {timedelta(hours=1)}


def test_events_of_several_classes_keep_their_order(app: Todoke) -> None:
    """OB-9"""
    events = [Placed(order_id=1) if number % 3 else Noted(order_id=number) for number in range(30)]
    with app.session() as session:
        messages = app.publish_all(session, events)
    assert [row.message_id for row in living(app)] == [message.id for message in messages]


def test_what_some_have_and_others_lack(app: Todoke) -> None:
    """OB-2: headers and trace of each event, collected by a Session into one INSERT."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with app.session() as session:
        for number in range(20):
            headers = {"traceparent": trace, "by": f"{number} ☂"} if number % 2 else None
            app.publish(session, Noted(order_id=number), headers=headers)
    rows = living(app)
    assert [row.trace_context for row in rows] == [None, trace] * 10
    assert [row.headers and codec.load(row.headers)["by"] for row in rows] == [
        f"{number} ☂" if number % 2 else None for number in range(20)
    ]


def test_delayed_events_lie_beside_those_that_are_due(app: Todoke) -> None:
    """OB-3"""
    with app.session() as session:
        app.publish_all(session, [Noted(order_id=number) for number in range(10)])
        app.publish_all(session, [Noted(order_id=number) for number in range(10, 20)], delay="1h")
    assert [row.state for row in living(app)] == ["ready"] * 10 + ["later"] * 10


def test_a_copy_that_fails_is_an_error_of_sqlalchemy(postgres_copy: str) -> None:
    """OB-1: the transaction is the caller's, and so is what its errors look like."""
    with application(postgres_copy) as app:
        with app.engine.begin() as connection:
            connection.execute(text("ALTER TABLE todoke.outbox ADD CHECK (key <> '17')"))
        with pytest.raises(IntegrityError, match="outbox"), app.session() as session:
            app.publish_all(session, [Noted(order_id=number) for number in range(40)])
        assert living(app) == []


def test_nothing_to_publish_is_fine(app: Todoke) -> None:
    """OB-1"""
    with app.session() as session:
        assert app.publish_all(session, []) == []
    assert living(app) == []
