"""The fields of an event, as its recorded name tells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Literal, NotRequired
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from todoke import Event, Key, Personal
from todoke.names.shape import around, fields_of, shape_of


class Item(BaseModel):
    article: str
    count: int = 1


class Card(BaseModel):
    number: str


class Cash(BaseModel):
    number: int


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Tree(BaseModel):
    name: str
    branches: list[Tree] = []


def test_plain_fields_are_told_by_what_is_written() -> None:
    """MS-4"""

    class Plain(Event):
        id: Key[UUID]
        mail: Personal[str] | None
        at: datetime
        total: Decimal = Decimal(0)
        colour: Colour = Colour.RED
        size: Literal["s", "m"] = "s"
        counts: dict[str, int] = Field(default_factory=dict)
        pair: tuple[int, str] = (1, "a")
        anything: Any = None

    assert fields_of(Plain) == {
        "id": "string uuid",
        "mail": "null | string",
        "at": "string date-time",
        "total": "number | string (optional)",
        "colour": '"red" | "blue" (optional)',
        "size": '"s" | "m" (optional)',
        "counts": "{integer} (optional)",
        "pair": "[integer, string] (optional)",
        "anything": "any (optional)",
    }


def test_inner_fields_are_told_by_their_path() -> None:
    """MS-4"""

    class Nested(Event, ordered=False):
        items: list[Item]
        gift: Item | None = None
        shelves: dict[str, Item] = Field(default_factory=dict)

    assert fields_of(Nested) == {
        "items": "[object]",
        "items[].article": "string",
        "items[].count": "integer (optional)",
        "gift": "null | object (optional)",
        "gift.article": "string",
        "gift.count": "integer (optional)",
        "shelves": "{object} (optional)",
        "shelves.*.article": "string",
        "shelves.*.count": "integer (optional)",
    }
    paths = ["items[].count", "gift.article", "shelves.*.count", "items", "a.b[].c"]
    assert [around(path) for path in paths] == ["items", "gift", "shelves", "", "a.b"]


def test_fields_of_alternatives_are_not_taken_for_each_other() -> None:
    """MS-4"""

    class Paid(Event, ordered=False):
        by: Card | Cash

    assert fields_of(Paid) == {
        "by": "Card: object | Cash: object",
        "by(Card).number": "string",
        "by(Cash).number": "integer",
    }
    assert around("by(Card).number") == "by"


def test_a_model_that_holds_itself_ends() -> None:
    """MS-4"""

    class Grown(Event, ordered=False):
        tree: Tree

    assert fields_of(Grown)["tree.branches"] == "[Tree] (optional)"


def test_limits_of_a_field_are_left_out() -> None:
    """MS-4: a longer text is no other type"""

    class Limited(Event, ordered=False):
        name: str = Field(max_length=10)

    assert fields_of(Limited) == {"name": "string"}


def test_a_type_that_only_python_knows_is_told_by_its_name() -> None:
    """MS-4"""

    class Odd(Event, ordered=False):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        own: memoryview

    assert "memoryview" in fields_of(Odd)["own"]


@dataclass
class Parcel:
    number: int
    items: list[Item] = field(default_factory=list)


class Address(TypedDict):
    street: str
    note: NotRequired[str]


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (int, ("integer", {})),
        (int | None, ("integer | null", {})),
        (list[UUID], ("[string uuid]", {})),
        (Item, ("object", {"article": "string", "count": "integer (optional)"})),
        (
            Parcel,
            (
                "object",
                {
                    "number": "integer",
                    "items": "[object] (optional)",
                    "items[].article": "string",
                    "items[].count": "integer (optional)",
                },
            ),
        ),
        (list[Card], ("[object]", {"[].number": "string"})),
        (Address, ("object", {"street": "string", "note": "string (optional)"})),
        (Callable[[], int], (str(Callable[[], int]), {})),
    ],
    ids=str,
)
def test_the_argument_of_a_job_is_told_whatever_its_type(kind: Any, told: object) -> None:
    """JB-1"""
    assert shape_of(kind) == told
