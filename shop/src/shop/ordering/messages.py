"""What ordering tells the others."""

from decimal import Decimal

from todoke import Event, Key, Personal


class OrderingEvent(Event, context="ordering", aggregate="order"):
    order_id: Key[int]


class OrderConfirmed(OrderingEvent, type="ORDER_CONFIRMED"):
    """An administrator accepted the order; a guest's has no address."""

    order_number: str
    customer_email: Personal[str] | None
    total_price: Decimal
