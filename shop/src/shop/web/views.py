"""The JSON that goes in and out: camelCase, yen as whole numbers, nothing unknown accepted."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic.functional_validators import AfterValidator
from pydantic_core import PydanticCustomError

from shop.audit.history import Operation
from shop.ordering.model import Order, OrderLine, OrderStatus
from shop.text import is_address, is_one_line


def _one_line(text: str) -> str:
    if not is_one_line(text):
        raise PydanticCustomError("one_line", "Text on one line, without control characters")
    return text


def _address_or_none(text: str) -> str | None:
    if text and not is_address(text):
        raise PydanticCustomError("address", "An e-mail address, such as name@example.com")
    return text or None


Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_one_line),
]
Email = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=254), AfterValidator(_address_or_none)
]


class Incoming(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)


class Outgoing(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class LineRequest(Incoming):
    name: Name
    quantity: int = Field(strict=True, ge=1, le=10_000)
    unit_price: int = Field(strict=True, ge=0, le=1_000_000_000)


class NewOrder(Incoming):
    lines: list[LineRequest] = Field(min_length=1, max_length=100)
    customer_email: Email | None = None

    def order_lines(self) -> list[OrderLine]:
        return [OrderLine(line.name, line.quantity, line.unit_price) for line in self.lines]


class LineView(Outgoing):
    name: str
    quantity: int
    unit_price: int


class OrderView(Outgoing):
    id: int
    order_number: str
    status: OrderStatus
    customer_email: str | None
    total_price: int
    placed_at: datetime
    lines: list[LineView]

    @classmethod
    def of(cls, order: Order) -> Self:
        return cls(
            id=order.id,
            order_number=order.number,
            status=order.status,
            customer_email=order.customer_email,
            total_price=order.total_price,
            placed_at=order.placed_at,
            lines=[
                LineView(name=line.name, quantity=line.quantity, unit_price=line.unit_price)
                for line in order.lines
            ],
        )


class OrderPage(Outgoing):
    """Newest first; `before=next` reads on."""

    items: Sequence[OrderView]
    next: int | None


class OperationView(Outgoing):
    id: int
    event_id: UUID
    subject: str
    operation_type: str
    performed_by: str
    request_path: str
    details: dict[str, str]
    performed_at: datetime

    @classmethod
    def of(cls, operation: Operation) -> Self:
        return cls.model_validate(operation, from_attributes=True)


class OperationPage(Outgoing):
    """Newest first; `before=next` reads on."""

    items: Sequence[OperationView]
    next: int | None
