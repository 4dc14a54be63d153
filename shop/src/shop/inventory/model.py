"""What can be said of stock."""

from dataclasses import dataclass
from enum import StrEnum


class ReservationType(StrEnum):
    TENTATIVE = "TENTATIVE"
    COMMITTED = "COMMITTED"
    SHIPPED = "SHIPPED"


class OutOfStock(Exception):
    """There is not as much of it as is wanted."""

    def __init__(self, sku: str, wanted: int, free: int) -> None:
        self.sku, self.wanted, self.free = sku, wanted, free
        super().__init__(f"{wanted} of {sku} are wanted and {free} are free")


@dataclass(frozen=True)
class Stock:
    """Of one product: all that ever came in, and where it is now."""

    sku: str
    total: int
    free: int
    reserved: int
    shipped: int
