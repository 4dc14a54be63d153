"""The JSON that goes in and out: camelCase, yen as whole numbers, nothing unknown accepted."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Self, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel
from pydantic.functional_validators import AfterValidator, field_validator
from pydantic_core import PydanticCustomError

from shop.audit.history import Operation
from shop.ordering.model import CancelReason, Language, Order, OrderStatus, Recipient
from shop.text import is_address, is_one_line
from shop.web import examples

SKU_PATTERN = r"^[A-Z0-9][A-Z0-9-]{0,39}$"

V = TypeVar("V", bound="Outgoing")


def _one_line(text: str) -> str:
    if not is_one_line(text):
        raise PydanticCustomError("one_line", "Text on one line, without control characters")
    return text


def _address_or_none(text: str) -> str | None:
    if text and not is_address(text):
        raise PydanticCustomError("address", "An e-mail address, such as name@example.com")
    return text or None


Line = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_one_line)
]
Name = Annotated[Line, Field(max_length=200)]
Sku = Annotated[str, StringConstraints(pattern=SKU_PATTERN)]
Email = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=254), AfterValidator(_address_or_none)
]


class Incoming(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)


class Outgoing(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


def seen(view: type[V], shown: object) -> V:
    """As others see it: of each field what the thing itself says."""
    return view.model_validate(shown, from_attributes=True, by_name=True)


class WantedLine(Incoming):
    sku: Sku
    quantity: int = Field(strict=True, ge=1, le=10_000)


class ShipTo(Incoming):
    """Where the parcel goes."""

    name: Annotated[Line, Field(max_length=100)]
    postal_code: Annotated[str, StringConstraints(pattern=r"^[0-9]{3}-?[0-9]{4}$")]
    address: Annotated[Line, Field(max_length=300)]
    phone: Annotated[str, StringConstraints(pattern=r"^[0-9][0-9-]{6,17}[0-9]$")]

    def recipient(self) -> Recipient:
        return Recipient(self.name, self.postal_code, self.address, self.phone)


class NewOrder(Incoming):
    """What is wanted and where it goes; without an e-mail address it is a guest's."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.NEW_ORDER]})

    lines: list[WantedLine] = Field(min_length=1, max_length=100)
    ship_to: ShipTo
    customer_email: Email | None = None
    language: Language = Language.JAPANESE

    @field_validator("lines")
    @classmethod
    def _each_once(cls, lines: list[WantedLine]) -> list[WantedLine]:
        if len({line.sku for line in lines}) < len(lines):
            raise PydanticCustomError("each_once", "Each product in one line, with its quantity")
        return lines

    def wanted(self) -> dict[str, int]:
        return {line.sku: line.quantity for line in self.lines}


class Cancellation(Incoming):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "USER_CANCEL"}]})

    reason: CancelReason


class LineView(Outgoing):
    sku: str
    name: str
    quantity: int
    unit_price: int


class RecipientView(Outgoing):
    name: str
    postal_code: str
    address: str
    phone: str


class OrderView(Outgoing):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.ORDER]})

    id: int
    order_number: str
    status: OrderStatus
    cancel_reason: CancelReason | None
    customer_email: str | None
    language: Language
    ship_to: RecipientView
    total_price: int
    placed_at: datetime
    lines: list[LineView]

    @classmethod
    def of(cls, order: Order) -> Self:
        return cls(
            id=order.id,
            order_number=order.number,
            status=order.status,
            cancel_reason=order.cancel_reason,
            customer_email=order.customer_email,
            language=order.language,
            ship_to=seen(RecipientView, order.recipient),
            total_price=order.total_price,
            placed_at=order.placed_at,
            lines=[seen(LineView, line) for line in order.lines],
        )


class OrderPage(Outgoing):
    """Newest first; `before=next` reads on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.page(examples.ORDER)]})

    items: Sequence[OrderView]
    next: int | None


class OperationView(Outgoing):
    model_config = ConfigDict(json_schema_extra={"examples": [examples.OPERATION]})

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
        return seen(cls, operation)


class OperationPage(Outgoing):
    """Newest first; `before=next` reads on."""

    model_config = ConfigDict(json_schema_extra={"examples": [examples.page(examples.OPERATION)]})

    items: Sequence[OperationView]
    next: int | None
