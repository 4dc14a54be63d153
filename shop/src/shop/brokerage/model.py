"""OrderRequest v1.1: an order to a broker, checked and written in one way only.

Two spellings of one order ("1.50" and "1.5", tags in another order, a default left out) are equal
once they are read, and so are their digests.
"""

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

_AMOUNT = r"(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,8})?"
_SYMBOL = r"[A-Za-z0-9][A-Za-z0-9./-]{0,31}"
_ACCOUNT = r"[A-Za-z0-9][A-Za-z0-9-]{0,33}"
_LONGEST_TAG = 50

Side = Literal["BUY", "SELL"]
OrderType = Literal["MARKET", "LIMIT", "STOP", "STOP_LIMIT"]
TimeInForce = Literal["DAY", "GTC", "IOC", "FOK"]

_PRICES: Mapping[str, frozenset[str]] = {
    "MARKET": frozenset(),
    "LIMIT": frozenset({"limit_price"}),
    "STOP": frozenset({"stop_price"}),
    "STOP_LIMIT": frozenset({"limit_price", "stop_price"}),
}


def _amount(value: object) -> Decimal:
    # Whole numbers are refused like the others: or a client finds out with its first fraction.
    if not isinstance(value, str | Decimal):
        raise PydanticCustomError(
            "decimal_as_text",
            'A decimal as text, such as "1.50": a JSON number may be rounded on its way',
        )
    text = value if isinstance(value, str) else format(value, "f")
    if not re.fullmatch(_AMOUNT, text):
        raise PydanticCustomError(
            "decimal_as_text",
            'A decimal such as "1.50": digits 0 to 9, at most 12 before the point and 8 after it,'
            " no sign and no exponent",
        )
    if not (amount := Decimal(text)):
        raise PydanticCustomError("more_than_zero", "More than zero")
    return amount.normalize()


def _symbol(text: str) -> str:
    # ASCII only: look-alikes and full-width letters would be other symbols to a reader's eye.
    if not re.fullmatch(_SYMBOL, text):
        raise PydanticCustomError(
            "symbol", "A symbol such as 7203.T: at most 32 of A to Z, 0 to 9, dot, slash, hyphen"
        )
    return text.upper()


def _account(text: str) -> str:
    if not re.fullmatch(_ACCOUNT, text):
        raise PydanticCustomError(
            "account", "An account: at most 34 of A to Z, a to z, 0 to 9, hyphen"
        )
    return text


def _tag(text: str) -> str:
    tag = unicodedata.normalize("NFC", text.strip())
    if not 0 < len(tag) <= _LONGEST_TAG or not tag.isprintable():
        raise PydanticCustomError("tag", "A tag: 1 to 50 characters that can be seen")
    return tag


def _sorted(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(set(tags)))


Amount = Annotated[
    Decimal,
    BeforeValidator(_amount),
    PlainSerializer(lambda amount: format(amount, "f"), return_type=str),
    WithJsonSchema({"type": "string", "pattern": f"^{_AMOUNT}$", "examples": ["1.5"]}),
]
Symbol = Annotated[
    str, AfterValidator(_symbol), Field(json_schema_extra={"pattern": f"^{_SYMBOL}$"})
]
Account = Annotated[
    str,
    AfterValidator(_account),
    Field(repr=False, json_schema_extra={"pattern": f"^{_ACCOUNT}$"}),
]
Tag = Annotated[str, AfterValidator(_tag), Field(json_schema_extra={"maxLength": _LONGEST_TAG})]


class OrderRequest(BaseModel):
    """What to buy or sell, how, and for whose account."""

    model_config = ConfigDict(
        alias_generator=to_camel, serialize_by_alias=True, extra="forbid", frozen=True
    )

    version: Literal["1.1"] = "1.1"
    symbol: Symbol
    side: Side
    quantity: Amount
    order_type: OrderType
    limit_price: Amount | None = None
    stop_price: Amount | None = None
    time_in_force: TimeInForce = "DAY"
    account: Account
    client_tags: Annotated[tuple[Tag, ...], Field(max_length=20), AfterValidator(_sorted)] = ()
    # Names the request and is no part of it: neither digested nor sent.
    idempotency_key: str | None = Field(
        default=None, exclude=True, repr=False, min_length=1, max_length=255
    )

    @model_validator(mode="before")
    @classmethod
    def _say_both_prices(cls, body: object) -> object:
        # One that is left out is checked like one that is null, and named as the client knows it.
        return {"limitPrice": None, "stopPrice": None, **body} if isinstance(body, dict) else body

    @field_validator("limit_price", "stop_price")
    @classmethod
    def _fits_the_type(cls, price: Decimal | None, info: ValidationInfo) -> Decimal | None:
        order_type = info.data.get("order_type")
        if order_type is None:
            return price
        is_needed = info.field_name in _PRICES[order_type]
        if is_needed and price is None:
            raise PydanticCustomError(
                "price_missing", "An order of type {type} needs it", {"type": order_type}
            )
        if price is not None and not is_needed:
            raise PydanticCustomError(
                "price_too_many", "An order of type {type} has none", {"type": order_type}
            )
        return price
