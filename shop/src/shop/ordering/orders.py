"""What can be done with orders. Every verb works in the caller's transaction."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from shop.ordering.context import ordering
from shop.ordering.messages import OrderCancelled, OrderConfirmed, OrderShipped
from shop.ordering.model import CancelReason, Language, Order, OrderLine, OrderStatus, Recipient
from shop.ordering.products import ProductNotFound, find_product
from shop.ordering.table import orders

_CONFIRMED = orders.c.status == OrderStatus.CONFIRMED


class OrderNotFound(LookupError):
    def __init__(self, order_id: int) -> None:
        self.order_id = order_id
        super().__init__(f"there is no order {order_id}")


class UnknownProduct(ValueError):
    """Somebody wants what is not sold here."""

    def __init__(self, sku: str) -> None:
        self.sku = sku
        super().__init__(f"there is no product {sku}")


def place_order(
    session: Session,
    wanted: Mapping[str, int],
    recipient: Recipient,
    customer_email: str | None,
    at: datetime,
    language: Language = Language.JAPANESE,
) -> Order:
    """So many of each product, at the price that it has now."""
    lines = [_line(session, sku, quantity) for sku, quantity in wanted.items()]
    order = Order.place(lines, recipient, customer_email, at, language)
    session.add(order)
    session.flush()
    return order


def confirm_order(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.confirm()
    total = Decimal(order.total_price)
    ordering.publish(session, OrderConfirmed(**_about(order), total_price=total))
    return order


def cancel_order(session: Session, order_id: int, reason: CancelReason) -> Order:
    order = take_order(session, order_id)
    order.cancel(reason)
    ordering.publish(session, OrderCancelled(**_about(order), reason=reason.value))
    return order


def mark_order_shipped(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.mark_shipped()
    ordering.publish(session, OrderShipped(**_about(order)))
    return order


def deliver_order(session: Session, order_id: int) -> Order:
    order = take_order(session, order_id)
    order.deliver()
    return order


def confirmed_orders(session: Session, after: int, limit: int) -> Sequence[Order]:
    """Those behind this id, oldest first; nobody else's until the transaction ends."""
    query = select(Order).where(_CONFIRMED, orders.c.id > after).order_by(orders.c.id)
    return session.scalars(query.limit(limit).with_for_update()).all()


def count_confirmed_orders(session: Session, after: int) -> int:
    behind = _CONFIRMED & (orders.c.id > after)
    return session.scalars(select(func.count()).select_from(orders).where(behind)).one()


def prepare_orders(session: Session, order_ids: Collection[int]) -> None:
    """`Order.prepare_shipment` for many, in one statement; they were taken before."""
    moved = {"status": OrderStatus.PREPARING_SHIPMENT, "revision": orders.c.revision + 1}
    session.execute(update(orders).where(orders.c.id.in_(order_ids), _CONFIRMED).values(**moved))


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


def _line(session: Session, sku: str, quantity: int) -> OrderLine:
    try:
        product = find_product(session, sku)
    except ProductNotFound as error:
        raise UnknownProduct(sku) from error
    return OrderLine(product.sku, product.name, quantity, product.unit_price)


def _about(order: Order) -> dict[str, Any]:
    return {
        "order_id": order.id,
        "order_number": order.number,
        "customer_email": order.customer_email,
        "language": order.language,
    }
