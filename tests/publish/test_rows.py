"""What a published event looks like in the outbox, on every kind of handle."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import distinct, event, func, literal_column, select, text

from tests.application import Placed, Shipped, living
from tests.publish.desks import Desk
from todoke import Event, Key, Todoke

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


class Expiring(Event, aggregate="Order", context="ordering", version=3, expires="1h"):
    order_id: Key[int]


@contextmanager
def inserts(app: Todoke) -> Iterator[list[str]]:
    """Statements that went into the outbox meanwhile."""
    seen: list[str] = []

    def note(_c: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT") and "outbox" in statement:
            seen.append(statement)

    engines = (app.engine, app.async_engine.sync_engine)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in engines:
        event.remove(engine, "before_cursor_execute", note)


async def test_many_events_are_one_statement(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with inserts(app) as statements:
        async with desk.transaction() as tx:
            await desk.publish_all(tx, [Placed(order_id=n) for n in range(50)])
    assert len(statements) + copies(app) == 1
    assert len(living(app)) == 50


def copies(app: Todoke) -> int:
    """On PostgreSQL, commands that wrote rows; they are copied, which SQLAlchemy does not see."""
    if app.database.kind != "postgresql":
        return 0
    with app.engine.connect() as connection:
        outbox = app.outbox_table.live
        return connection.execute(
            select(func.count(distinct(literal_column("cmin::text")))).select_from(outbox)
        ).scalar_one()


async def test_a_session_writes_all_its_events_in_one_insert(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    with inserts(app) as statements:
        async with desk.transaction() as tx:
            for n in range(5):
                await desk.publish(tx, Placed(order_id=n))
    assert len(statements) == (1 if desk.waits_for_commit else 5)


async def test_rows_stand_in_the_order_of_publishing(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=0))
        await desk.publish_all(tx, [Placed(order_id=n) for n in range(1, 30)])
        await desk.publish(tx, Placed(order_id=30))
    rows = living(app)
    assert [int(row.key) for row in rows] == list(range(31))
    assert [row.message_id for row in rows] == sorted(row.message_id for row in rows)


async def test_the_callers_own_rows_come_first(app: Todoke, desk: Desk) -> None:
    """OB-1"""
    async with desk.transaction() as tx:
        await desk.execute(tx, "INSERT INTO orders (id, seen) VALUES (1, 0)")
        await desk.publish(tx, Placed(order_id=1))
        await desk.execute(tx, f"UPDATE orders SET seen = (SELECT count(*) FROM {outbox(app)})")
    assert seen(app) == (0 if desk.waits_for_commit else 1)


async def test_publishing_answers_the_message(app: Todoke, desk: Desk) -> None:
    """OB-2 OB-4"""
    async with desk.transaction() as tx:
        message = await desk.publish(tx, Placed(order_id=7))
    (row,) = living(app)
    assert (message.id, message.key, message.data) == (row.message_id, "7", Placed(order_id=7))


async def test_publishing_many_answers_their_messages(app: Todoke, desk: Desk) -> None:
    """OB-2 OB-4"""
    async with desk.transaction() as tx:
        messages = await desk.publish_all(tx, [Placed(order_id=1), Placed(order_id=2)])
    assert [one.id for one in messages] == [row.message_id for row in living(app)]


async def test_a_row_says_all_that_its_class_declares(app: Todoke, desk: Desk) -> None:
    """OB-2 OB-13"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Expiring(order_id=1))
    (row,) = living(app)
    assert (row.context, row.aggregate, row.key, row.type, row.version, row.body) == (
        "ordering", "Order", "1", "expiring", 3, '{"order_id":1}',
    )  # fmt: skip
    assert (row.state, row.attempt, row.owner, row.ordered) == ("ready", 0, None, True)
    assert (row.created_at, row.scheduled_at) == (MIDNIGHT, MIDNIGHT)
    assert row.deliver_before == MIDNIGHT + timedelta(hours=1)


async def test_an_event_without_a_key_has_its_own(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        message = await desk.publish(tx, Shipped())
    (row,) = living(app)
    assert (row.key, row.ordered) == (str(message.id), False)


async def test_a_delayed_event_is_due_later(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1), delay="10m")
        await desk.publish(tx, Placed(order_id=2), delay=NOON)
    due = {row.key: (row.state, row.scheduled_at) for row in living(app)}
    assert due == {"1": ("later", MIDNIGHT + timedelta(minutes=10)), "2": ("later", NOON)}


async def test_a_delay_in_the_past_is_none(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1), delay=datetime(2020, 1, 1, tzinfo=UTC))
    assert [row.state for row in living(app)] == ["ready"]


async def test_an_event_may_have_a_last_moment(app: Todoke, desk: Desk) -> None:
    """OB-13"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1), expires="1d")
        await desk.publish_all(tx, [Placed(order_id=2)], expires="2d")
    limits = [row.deliver_before for row in living(app)]
    assert limits == [MIDNIGHT + timedelta(days=1), MIDNIGHT + timedelta(days=2)]


async def test_headers_travel_along(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with desk.transaction() as tx:
        message = await desk.publish(
            tx, Placed(order_id=1), headers={"traceparent": trace, "tenant": "東京"}
        )
    (row,) = living(app)
    assert row.headers == f'{{"tenant":"東京","traceparent":"{trace}"}}'
    assert (row.trace_context, message.trace_id) == (trace, "0af7651916cd43dd8448eb211c80319c")


async def test_a_trace_context_that_is_none_is_left_out(app: Todoke, desk: Desk) -> None:
    """OB-2 SE-4: a header from outside must not break the commit"""
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1), headers={"traceparent": "x" * 300})
    assert [row.trace_context for row in living(app)] == [None]


async def test_text_of_any_language_is_kept_exactly(app: Todoke, desk: Desk) -> None:
    """OB-2"""
    note = "ご注文確認 🎌 \u0000 \\ \" '; DROP TABLE orders --"
    async with desk.transaction() as tx:
        await desk.publish(tx, Placed(order_id=1, note=note))
    assert Placed.model_validate_json(living(app)[0].body).note == note


def outbox(app: Todoke) -> str:
    return str(app.outbox_table.live.fullname)


def seen(app: Todoke) -> int:
    with app.engine.connect() as connection:
        return int(connection.execute(text("SELECT seen FROM orders")).scalar_one())
