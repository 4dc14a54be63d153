"""What can be said of stock."""

from dataclasses import dataclass
from enum import StrEnum

MOST_STOCK = 2_000_000_000
"""So far from what a column holds that one receipt more does not reach it."""


class ReservationType(StrEnum):
    TENTATIVE = "TENTATIVE"
    COMMITTED = "COMMITTED"
    SHIPPED = "SHIPPED"
    CANCELLED = "CANCELLED"


class OutOfStock(Exception):
    """There is not as much of it as is wanted."""

    def __init__(self, sku: str, wanted: int, free: int) -> None:
        self.sku, self.wanted, self.free = sku, wanted, free
        super().__init__(f"{wanted} of {sku} are wanted and {free} are free")


class TooMuchStock(Exception):
    """More of a product than can be counted."""

    def __init__(self, sku: str) -> None:
        self.sku = sku
        super().__init__(f"there would be more than {MOST_STOCK} of {sku}")


class NotReserved(Exception):
    """An order goes on for which nothing is kept."""

    def __init__(self, order_id: int) -> None:
        self.order_id = order_id
        super().__init__(f"not everything in order {order_id} is kept for it")


class StockNotFound(LookupError):
    """Something is to leave the shelf on which nothing ever stood."""

    def __init__(self, sku: str) -> None:
        self.sku = sku
        super().__init__(f"nothing of {sku} ever came in")


@dataclass(frozen=True)
class Stock:
    """Of one product: all that ever came in, and where it is now."""

    sku: str
    total: int
    free: int
    reserved: int
    shipped: int
