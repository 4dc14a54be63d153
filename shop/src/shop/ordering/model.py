"""What is sold, and the rules of an order's life."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

# No I, L, O, U: numbers are read out on the telephone.
_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class OrderStatus(StrEnum):
    PENDING = "PENDING"
    PAID = "PAID"
    CONFIRMED = "CONFIRMED"
    PREPARING_SHIPMENT = "PREPARING_SHIPMENT"
    SHIPPED = "SHIPPED"
    DELIVERED = "DELIVERED"
    CANCELLED = "CANCELLED"


class InvalidStatusTransition(Exception):
    """The order's present status does not allow this move."""

    def __init__(self, current: OrderStatus, wanted: OrderStatus) -> None:
        self.current = current
        self.wanted = wanted
        super().__init__(f"an order that is {current} cannot become {wanted}")


class CancelReason(StrEnum):
    PAYMENT_FAILED = "PAYMENT_FAILED"
    TIMEOUT = "TIMEOUT"
    USER_CANCEL = "USER_CANCEL"


class Language(StrEnum):
    """In which the customer is written to."""

    JAPANESE = "ja"
    ENGLISH = "en"


@dataclass(eq=False)
class Product:
    """What is sold, under a number of its own, at a price in yen."""

    sku: str
    name: str
    unit_price: int


@dataclass(frozen=True)
class Recipient:
    """Where the parcel goes."""

    name: str
    postal_code: str
    address: str
    phone: str


@dataclass(eq=False)
class OrderLine:
    """So many of one product, at the price of the day, in yen."""

    sku: str
    name: str
    quantity: int
    unit_price: int

    @property
    def price(self) -> int:
        return self.quantity * self.unit_price


@dataclass(eq=False)
class Order:
    """What a customer asked for; without an e-mail address it is a guest's."""

    number: str
    customer_email: str | None
    placed_at: datetime
    lines: list[OrderLine]
    recipient_name: str
    postal_code: str
    address: str
    phone: str
    language: Language = Language.JAPANESE
    status: OrderStatus = OrderStatus.PENDING
    cancel_reason: CancelReason | None = None
    id: int = field(init=False)

    @classmethod
    def place(
        cls,
        lines: Sequence[OrderLine],
        recipient: Recipient,
        customer_email: str | None,
        at: datetime,
        language: Language = Language.JAPANESE,
    ) -> Self:
        return cls(
            number=order_number(at),
            customer_email=customer_email,
            placed_at=at,
            lines=list(lines),
            recipient_name=recipient.name,
            postal_code=recipient.postal_code,
            address=recipient.address,
            phone=recipient.phone,
            language=language,
        )

    @property
    def recipient(self) -> Recipient:
        return Recipient(self.recipient_name, self.postal_code, self.address, self.phone)

    @property
    def total_price(self) -> int:
        return sum(line.price for line in self.lines)

    def pay(self) -> None:
        self._become(OrderStatus.PAID, OrderStatus.PENDING)

    def confirm(self) -> None:
        """An administrator's act; an order to be paid later is confirmed unpaid."""
        self._become(OrderStatus.CONFIRMED, OrderStatus.PENDING, OrderStatus.PAID)

    def prepare_shipment(self) -> None:
        """The shipping job's act: no person and no route does it."""
        self._become(OrderStatus.PREPARING_SHIPMENT, OrderStatus.CONFIRMED)

    def mark_shipped(self) -> None:
        self._become(OrderStatus.SHIPPED, OrderStatus.PREPARING_SHIPMENT)

    def deliver(self) -> None:
        self._become(OrderStatus.DELIVERED, OrderStatus.SHIPPED)

    def cancel(self, reason: CancelReason) -> None:
        """Possible until the parcel is being prepared."""
        self._become(
            OrderStatus.CANCELLED, OrderStatus.PENDING, OrderStatus.PAID, OrderStatus.CONFIRMED
        )
        self.cancel_reason = reason

    @property
    def has_left(self) -> bool:
        """It is with the carrier or the customer, so that it can come back."""
        return self.status in (OrderStatus.SHIPPED, OrderStatus.DELIVERED)

    def _become(self, wanted: OrderStatus, *allowed_from: OrderStatus) -> None:
        if self.status not in allowed_from:
            raise InvalidStatusTransition(self.status, wanted)
        self.status = wanted


def order_number(at: datetime) -> str:
    """A number that tells its day, and not how many orders there were."""
    return f"{at:%Y%m%d}-" + "".join(secrets.choice(_LETTERS) for _ in range(8))
