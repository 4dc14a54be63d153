"""The argument that every job is given, of about 100 bytes; for sides that know no todoke, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from pydantic import BaseModel


class Order(BaseModel):
    order_id: int
    number: str = "ORD-2026-000001"
    customer: str = "customer@example.com"
    total: int = 4980


def orders(count: int) -> Iterator[Order]:
    return (Order(order_id=number) for number in range(count))


def chunks(many: Iterable[Order], size: int) -> Iterator[list[Order]]:
    waiting = iter(many)
    while some := list(islice(waiting, size)):
        yield some
