"""The event that every side handles; `bench.peers.event` is the same without todoke."""

from __future__ import annotations

from collections.abc import Iterator

from todoke import Event, Key


class Measured(Event, context="todoke", aggregate="order", ordered=False):
    """About 200 bytes of JSON, as an order would have."""

    order_id: Key[int]
    number: str = "ORD-2026-000001"
    customer: str = "customer@example.com"
    total: int = 4980
    lines: tuple[str, ...] = ("apple", "pear", "plum", "peach", "quince")
    note: str = "Please ring twice, and leave it with the neighbours."


class Ordered(Measured, ordered=True):
    """The same, in order."""


def events(count: int, *, ordered: bool = False, keys: int | None = None) -> Iterator[Measured]:
    kind = Ordered if ordered else Measured
    return (kind(order_id=number % (keys or count)) for number in range(count))


def key(number: int) -> str:
    """An idempotency key, as long as most are."""
    return f"01a1ea04-c5d4-73d2-a466-{number:012d}"
