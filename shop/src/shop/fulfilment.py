"""What shipping asks of ordering and inventory, answered where contexts are named together."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from shop.inventory.reservations import with_committed_stock
from shop.ordering.model import Order
from shop.ordering.orders import (
    confirmed_orders,
    count_confirmed_orders,
    prepare_orders,
    take_order,
)
from shop.shipping.model import Item, Parcel, Shipment
from shop.shipping.ports import ConfirmedOrder, OrdersToShip
from shop.shipping.shipments import request_return


class NotShippedYet(Exception):
    """What has not left cannot come back."""

    def __init__(self, order: Order) -> None:
        self.order_id, self.current = order.id, order.status
        super().__init__(f"order {order.id} is {order.status}")


class OrdersOfTheShop(OrdersToShip):
    """Ordering's orders with inventory's word on their stock."""

    def count(self, session: Session, after: int | None) -> int:
        return count_confirmed_orders(session, after or 0)

    def confirmed(self, session: Session, after: int | None, size: int) -> Sequence[ConfirmedOrder]:
        found = confirmed_orders(session, after or 0, size)
        kept = with_committed_stock(session, [order.id for order in found])
        return [ConfirmedOrder(parcel_of(order), order.id in kept) for order in found]

    def prepare(self, session: Session, order_ids: Collection[int]) -> None:
        prepare_orders(session, order_ids)


def parcel_of(order: Order) -> Parcel:
    return Parcel(
        order_id=order.id,
        order_number=order.number,
        recipient_name=order.recipient_name,
        postal_code=order.postal_code,
        address=order.address,
        phone=order.phone,
        items=[Item(line.sku, line.name, line.quantity) for line in order.lines],
    )


def orders_to_ship() -> OrdersToShip:
    return OrdersOfTheShop()


def request_return_of(session: Session, order_id: int, at: datetime) -> tuple[Order, Shipment]:
    """Have an order fetched that has left; nobody can want that of another."""
    order = take_order(session, order_id)
    if not order.has_left:
        raise NotShippedYet(order)
    return order, request_return(session, parcel_of(order), at)
