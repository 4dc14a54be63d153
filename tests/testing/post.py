"""A small application as users have it: at module level, with a context and what it provides."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Column, Integer, MetaData, String, Table, func, insert, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke import Attempt, Context, Event, Key, Limit, Settings, Todoke
from todoke.testing import Harness

tables = MetaData()
sales = Table(
    "sales",
    tables,
    Column("order_id", Integer),
    Column("note", String(100)),
)


class OrderingEvent(Event, context="ordering", aggregate="order"):
    order_id: Key[int]


class OrderConfirmed(OrderingEvent):
    total: int = 0


class OrderCancelled(OrderingEvent):
    """Nobody but a session handler takes it."""


class OrderCounted(OrderingEvent):
    """One async session handler takes it."""


class OrderMailed(OrderingEvent):
    """One handler without a session takes it."""


class OrderPacked(OrderingEvent):
    """One handler without a session takes it, by way of a destination."""


class Mailer:
    """Drops what it has sent already, by its key."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.closed = False

    @property
    def sent(self) -> int:
        return len(set(self.calls))

    def send(self, key: str) -> None:
        self.calls.append(key)


class BrokenMailer(Mailer):
    def send(self, key: str) -> None:
        super().send(key)
        raise ConnectionRefusedError("no mail server")


app = Todoke(settings=Settings({"name": "post"}, environment={}))
ordering = Context("ordering")
app.include(ordering)
provided: list[Mailer] = []


@ordering.provide
def mailer() -> Iterator[Mailer]:
    made = Mailer()
    provided.append(made)
    yield made
    made.closed = True


@ordering.on(OrderConfirmed, name="order-mail", retry="mail")
async def send_mail(event: OrderConfirmed, mailer: Mailer, attempt: Attempt) -> None:
    mailer.send(attempt.idempotency_key)


@ordering.on(OrderConfirmed)
def count_sales(event: OrderConfirmed, session: Session) -> None:
    session.execute(insert(sales).values(order_id=event.order_id, note="confirmed"))


@ordering.on(OrderCancelled)
def count_cancelled(event: OrderCancelled, session: Session) -> None:
    session.execute(insert(sales).values(order_id=event.order_id, note="cancelled"))


@ordering.on(OrderCounted)
async def count_orders(event: OrderCounted, session: AsyncSession) -> None:
    await session.execute(insert(sales).values(order_id=event.order_id, note="counted"))


@ordering.on(OrderMailed, name="mailed", retry="mail")
def note_mail(event: OrderMailed, mailer: Mailer, attempt: Attempt) -> None:
    mailer.send(attempt.idempotency_key)


@ordering.on(OrderPacked, limit=Limit(1))
def call_the_carrier(event: OrderPacked, mailer: Mailer, attempt: Attempt) -> None:
    mailer.send(attempt.idempotency_key)


def confirm(session: Session, order_id: int) -> None:
    ordering.publish(session, OrderConfirmed(order_id=order_id))


def publish(harness: Harness, *events: Event) -> None:
    with harness.session() as session:
        ordering.publish_all(session, events)


def sold(harness: Harness) -> int:
    with harness.session() as session:
        return session.scalar(select(func.count()).select_from(sales)) or 0
