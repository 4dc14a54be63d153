"""What can be done with orders. Every verb works in the caller's transaction."""

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from shop.ordering.context import ordering
from shop.ordering.messages import OrderConfirmed
from shop.ordering.model import Order, OrderLine
from shop.ordering.table import orders


class OrderNotFound(LookupError):
    def __init__(self, order_id: int) -> None:
        self.order_id = order_id
        super().__init__(f"there is no order {order_id}")


def place_order(
    session: Session, lines: Sequence[OrderLine], customer_email: str | None, at: datetime
) -> Order:
    order = Order.place(lines, customer_email, at)
    session.add(order)
    session.flush()
    return order


def confirm_order(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.confirm()
    ordering.publish(session, _confirmed(order))
    return order


def mark_order_shipped(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.mark_shipped()
    return order


def deliver_order(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.deliver()
    return order


def take_order(session: Session, order_id: int) -> Order:
    """The order as it is now, and nobody else's until the transaction ends.

    The write comes before the read: it waits for a rival's commit on every database, also on
    SQLite, which has no row locks.
    """
    session.execute(
        update(orders).where(orders.c.id == order_id).values(revision=orders.c.revision + 1)
    )
    return find_order(session, order_id)


def find_order(session: Session, order_id: int) -> Order:
    order = session.get(Order, order_id, populate_existing=True)
    if order is None:
        raise OrderNotFound(order_id)
    return order


def latest_orders(session: Session, limit: int, before: int | None = None) -> Sequence[Order]:
    query = select(Order).order_by(orders.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(orders.c.id < before)
    return session.scalars(query).all()


def _confirmed(order: Order) -> OrderConfirmed:
    return OrderConfirmed(
        order_id=order.id,
        order_number=order.number,
        customer_email=order.customer_email,
        total_price=Decimal(order.total_price),
    )
