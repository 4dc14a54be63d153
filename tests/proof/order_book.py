"""Very many orders at once, written as rows, and what must become of them.

Each is told by its number alone, so that nobody need keep what is expected: it has one to three
lines, and of eleven one is not to be shipped, for one reason or another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import Enum, auto
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Engine, Table, insert

from shop.inventory.model import ReservationType
from shop.inventory.table import stock, stock_reservations
from shop.ordering.model import OrderStatus
from shop.ordering.table import order_lines, orders

_PORTION = 5_000
_PLACED = datetime(2026, 11, 17, 3, 0, tzinfo=UTC)
_FAR = datetime(2100, 1, 1, tzinfo=UTC)


class Kind(Enum):
    """Why an order is shipped, or is not."""

    READY = auto()
    UNRESERVED = auto()
    TENTATIVE = auto()
    GIVEN_BACK = auto()
    PENDING = auto()
    CANCELLED = auto()

    @property
    def status(self) -> OrderStatus:
        return _STATUS.get(self, OrderStatus.CONFIRMED)


_STATUS = {Kind.PENDING: OrderStatus.PENDING, Kind.CANCELLED: OrderStatus.CANCELLED}
_OTHERS = [kind for kind in Kind if kind is not Kind.READY]


class BookLine(NamedTuple):
    sku: str
    name: str
    quantity: int


class BookOrder(NamedTuple):
    """Order, by its number, which is also its id."""

    id: int

    @property
    def kind(self) -> Kind:
        return _OTHERS[self.id // 11 % len(_OTHERS)] if self.id % 11 == 0 else Kind.READY

    @property
    def number(self) -> str:
        return f"20261117-{self.id:08d}"

    @property
    def recipient(self) -> dict[str, str]:
        return {
            "recipient_name": f"山田花子{self.id}",
            "postal_code": "100-0001",
            "address": f"東京都千代田区千代田1-{self.id}",
            "phone": "03-1234-5678",
        }

    @property
    def lines(self) -> list[BookLine]:
        teas = [(self.id * 7 + place) % 100 for place in range(1 + self.id % 3)]
        return [BookLine(f"TEA-{tea:03d}", f"煎茶 {tea}", 1 + self.id % 4) for tea in teas]


class OrderBook:
    """Orders from a number on; so many of them are ready to be shipped."""

    def __init__(self, ready: int, first: int = 1) -> None:
        assert ready % 10 == 0
        self._ids = range(first, first + ready // 10 * 11)
        self.ready = ready
        self.next = self._ids.stop

    def __iter__(self) -> Iterator[BookOrder]:
        return map(BookOrder, self._ids)

    def of(self, *kinds: Kind) -> Iterator[BookOrder]:
        return (order for order in self if order.kind in kinds)

    @property
    def confirmed(self) -> int:
        return sum(order.kind.status == OrderStatus.CONFIRMED for order in self)

    def write(self, engine: Engine) -> None:
        _write(engine, orders, map(_order, self))
        _write(engine, order_lines, (row for order in self for row in _lines(order)))
        _write(engine, stock_reservations, (row for order in self for row in _kept(order)))


def fill_shelves(engine: Engine, *books: OrderBook) -> None:
    """As much of everything as the books have reserved, and a little more."""
    reserved: Counter[str] = Counter()
    for book in books:
        for row in (row for order in book for row in _kept(order) if row["deleted_at"] is None):
            reserved[row["sku"]] += row["quantity"]
    rows = (
        {"sku": sku, "total": count + 10, "free": 10, "reserved": count, "shipped": 0}
        for sku, count in reserved.items()
    )
    _write(engine, stock, rows)


def _order(order: BookOrder) -> dict[str, Any]:
    known = {"id": order.id, "number": order.number, "status": order.kind.status}
    return {**known, **order.recipient, "placed_at": _PLACED, "language": "ja", "revision": 0}


def _lines(order: BookOrder) -> Iterator[dict[str, Any]]:
    for line in order.lines:
        yield {"order_id": order.id, **line._asdict(), "unit_price": 980}


def _kept(order: BookOrder) -> Iterator[dict[str, Any]]:
    """Its reservations: of each kind such as the shop's own verbs leave behind."""
    if order.kind is Kind.UNRESERVED:
        return
    is_committed = order.kind in (Kind.READY, Kind.GIVEN_BACK)
    type_ = ReservationType.COMMITTED if is_committed else ReservationType.TENTATIVE
    expires_at = None if is_committed else _FAR
    deleted_at = _PLACED if order.kind in (Kind.GIVEN_BACK, Kind.CANCELLED) else None
    for line in order.lines:
        known = {"order_id": order.id, "sku": line.sku, "quantity": line.quantity, "type": type_}
        yield {**known, "expires_at": expires_at, "deleted_at": deleted_at}


def _write(engine: Engine, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    left = iter(rows)
    while portion := list(islice(left, _PORTION)):
        with engine.begin() as connection:
            connection.execute(insert(table), portion)
