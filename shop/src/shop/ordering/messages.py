"""What ordering tells the others."""

from decimal import Decimal
from typing import Literal

from todoke import Event, Key, Personal

Language = Literal["ja", "en"]
"""In which the customer is written to."""
CancelReason = Literal["PAYMENT_FAILED", "TIMEOUT", "USER_CANCEL"]


class OrderingEvent(Event, context="ordering", aggregate="order"):
    """Something has happened to an order; a guest's has no address to write to."""

    order_id: Key[int]
    order_number: str
    customer_email: Personal[str] | None
    language: Language = "ja"


class OrderConfirmed(OrderingEvent, type="ORDER_CONFIRMED"):
    """An administrator accepted the order."""

    total_price: Decimal


class OrderCancelled(OrderingEvent, type="ORDER_CANCELLED"):
    """Nothing will be sent, and nothing kept for it."""

    reason: CancelReason


class OrderShipped(OrderingEvent, type="ORDER_SHIPPED"):
    """The parcel has left the warehouse."""
