"""The payload of `bench.event.Measured`, for sides that know no todoke."""

from __future__ import annotations

from pydantic import BaseModel


class Measured(BaseModel):
    order_id: int
    number: str = "ORD-2026-000001"
    customer: str = "customer@example.com"
    total: int = 4980
    lines: tuple[str, ...] = ("apple", "pear", "plum", "peach", "quince")
    note: str = "Please ring twice, and leave it with the neighbours."
