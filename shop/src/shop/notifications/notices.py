"""Which mails there are, and what each says of its event."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from shop.notifications import template
from shop.notifications.template import Wording
from shop.ordering.messages import (
    CancelReason,
    Language,
    OrderCancelled,
    OrderConfirmed,
    OrderingEvent,
    OrderShipped,
)

E = TypeVar("E", bound=OrderingEvent)


class Notice(Generic[E]):
    """A mail about one kind of event; each place of its templates has a function that fills it."""

    def __init__(self, name: str, **places: Callable[[E], str]) -> None:
        self.templates = template.read(name, places.keys())
        self._places = places

    def about(self, event: E) -> Wording:
        """What it says of this event, in the customer's language."""
        values = {place: value_of(event) for place, value_of in self._places.items()}
        return self.templates[event.language].fill(values)


REASONS: Mapping[CancelReason, Mapping[Language, str]] = {
    "PAYMENT_FAILED": {
        "ja": "お支払いを確認できなかったため",
        "en": "your payment did not go through",
    },
    "TIMEOUT": {
        "ja": "期限内にお手続きが完了しなかったため",
        "en": "the order was not completed in time",
    },
    "USER_CANCEL": {
        "ja": "お客様よりキャンセルのお申し出をいただいたため",
        "en": "you asked us to cancel it",
    },
}


def _number(event: OrderingEvent) -> str:
    return event.order_number


def _total(event: OrderConfirmed) -> str:
    return f"¥{event.total_price:,.0f}"


def _reason(event: OrderCancelled) -> str:
    return REASONS[event.reason][event.language]


CONFIRMED = Notice[OrderConfirmed]("order-confirmed", number=_number, total=_total)
SHIPPED = Notice[OrderShipped]("order-shipped", number=_number)
CANCELLED = Notice[OrderCancelled]("order-cancelled", number=_number, reason=_reason)
