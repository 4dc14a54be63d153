"""What shipping must know of orders and stock, and do to them; `shop.app` says who answers.

Asked, not told by events: that an order is prepared and that its shipment is there must be one
commit, or an order could be cancelled in between and be sent all the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy.orm import Session

from shop.shipping.model import Parcel


@dataclass(frozen=True)
class ConfirmedOrder:
    parcel: Parcel
    has_committed_stock: bool


class OrdersToShip(Protocol):
    def count(self, session: Session, after: int | None) -> int:
        """How many are confirmed, behind this id."""

    def confirmed(self, session: Session, after: int | None, size: int) -> Sequence[ConfirmedOrder]:
        """Confirmed orders behind this id, oldest first, nobody else's until the commit."""

    def prepare(self, session: Session, order_ids: Collection[int]) -> None:
        """They are being prepared for shipment from now on."""
