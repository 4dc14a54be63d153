"""What a broker looks like from here, whatever it speaks."""

from abc import ABC, abstractmethod
from datetime import datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shop.brokerage.model import OrderRequest
from todoke import PermanentError, TransientError

INTERNAL_ERROR = "INTERNAL_ERROR"


class Receipt(BaseModel):
    """The broker's word that it has the order."""

    model_config = ConfigDict(
        alias_generator=to_camel, serialize_by_alias=True, validate_by_name=True, frozen=True
    )

    broker_order_id: str = Field(min_length=1, max_length=100, pattern=r"^[!-~]+$")
    client_order_id: str = Field(min_length=1, max_length=255)
    taken_at: datetime


class AdapterRefused(PermanentError):
    """The broker has looked at the order and does not want it: final, with its reason code."""

    def __init__(self, message: str, *, code: str = INTERNAL_ERROR) -> None:
        super().__init__(message, code=code)


class AdapterFailed(TransientError):
    """The broker may or may not have the order: ask again, with the same key."""

    def __init__(
        self, message: str, *, code: str = INTERNAL_ERROR, after: timedelta | None = None
    ) -> None:
        super().__init__(message, code=code, after=after)


class Adapter(ABC):
    """A way to a broker. `shop.brokerage.conformance` is what each has to pass."""

    name: str

    @abstractmethod
    async def send(self, order: OrderRequest, *, key: str, client_order_id: str) -> Receipt:
        """Hand the order over; return when the broker has it.

        A second call with the same key must have no second effect and brings the first receipt.
        Raises AdapterRefused or AdapterFailed, whose texts hold neither account nor secrets.
        """
