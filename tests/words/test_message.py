"""Events as users declare them: key, personal data, class keywords."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, ValidationError

from todoke import Event, Key, Message, Personal
from todoke.errors import InvalidEvent, InvalidOption, NullKey
from todoke.message import mask
from todoke.testing import Clock


class OrderEvent(Event, context="ordering", aggregate="Order", followers="skip", expires="1d"):
    order_id: Key[int]


class OrderPlaced(OrderEvent, version=2):
    note: str = ""


class Person(BaseModel):
    name: Personal[str]
    town: str = "Tokyo"


class Company(BaseModel):
    tax_id: Personal[str]


class Signed(Event, ordered=False):
    email: Personal[str] | None = None
    phone: Personal[str | None] = None
    nicknames: Personal[list[str]] | None = None
    main: Person | None = None
    others: tuple[Person, ...] = ()
    groups: tuple[list[Person], ...] = ()
    by_role: Mapping[str, Person] | None = None
    party: Person | Company | None = None
    plain: str = "shown"


def test_the_type_is_the_class_name_in_kebab_case() -> None:
    """OB-2"""
    assert OrderPlaced.declared.type == "order-placed"


def test_class_keywords_are_inherited_and_type_and_version_are_not() -> None:
    """OB-2"""
    declared = OrderPlaced.declared
    assert (declared.context, declared.aggregate, declared.followers, declared.expires) == (
        "ordering", "Order", "skip", timedelta(days=1),
    )  # fmt: skip
    assert (declared.version, OrderEvent.declared.version) == (2, 1)


def test_an_inherited_keyword_may_be_said_anew() -> None:
    """OB-2"""

    class Urgent(OrderEvent, context="urgent", ordered=False):
        pass

    assert (Urgent.declared.context, Urgent.declared.ordered) == ("urgent", False)
    assert OrderEvent.declared.context == "ordering"


def test_an_event_cannot_be_changed() -> None:
    """OB-2"""
    with pytest.raises(ValidationError):
        OrderPlaced(order_id=1).order_id = 2  # type: ignore[misc]


def test_the_key_is_the_marked_field_as_text() -> None:
    """OB-2"""
    assert OrderPlaced.declared.key_of(OrderPlaced(order_id=7)) == "7"


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_key_is_refused(empty: str | None) -> None:
    """OB-2"""

    class Named(Event):
        name: Key[str | None]

    with pytest.raises(NullKey, match="Set `name` before publishing"):
        Named.declared.key_of(Named(name=empty))


def test_zero_is_a_key_like_any_other() -> None:
    """OB-2"""
    assert OrderPlaced.declared.key_of(OrderPlaced(order_id=0)) == "0"


def test_an_ordered_event_without_a_key_is_refused() -> None:
    """OB-2 OB-9"""

    class Keyless(Event):
        text: str = ""

    with pytest.raises(InvalidEvent, match="Mark the field of its aggregate"):
        Keyless.declared.key_of(Keyless())


def test_an_unordered_event_needs_no_key() -> None:
    """OB-2"""
    assert Signed.declared.key_of(Signed()) is None


def test_two_keys_are_refused_where_the_class_stands() -> None:
    """OB-2"""
    with pytest.raises(InvalidOption, match="one field is the key"):

        class Torn(Event):
            one: Key[int]
            other: Key[int]


@pytest.mark.parametrize(
    "keywords",
    [{"topic": "x"}, {"followers": "drop"}, {"type": "x" * 101}, {"expires": 5}],
    ids=str,
)
def test_a_keyword_that_cannot_be_meant_is_refused(keywords: dict[str, Any]) -> None:
    """OB-2"""
    with pytest.raises(InvalidOption):
        type("Wrong", (Event,), {"__module__": __name__}, **keywords)


def test_personal_fields_are_masked_wherever_they_stand() -> None:
    """SE-2"""
    person = {"name": "Mika", "town": "Kyoto"}
    hidden = {"name": "***", "town": "Kyoto"}
    shown = mask(
        Signed,
        {
            "email": "mika@example.jp",
            "phone": "090",
            "nicknames": ["Mi"],
            "main": person,
            "others": [person, person],
            "groups": [[person]],
            "by_role": {"owner": person},
            "plain": "shown",
        },
    )
    assert shown == {
        "email": "***",
        "phone": "***",
        "nicknames": "***",
        "main": hidden,
        "others": [hidden, hidden],
        "groups": [[hidden]],
        "by_role": {"owner": hidden},
        "plain": "shown",
    }


@pytest.mark.parametrize("party", [{"name": "Mika", "town": "x"}, {"tax_id": "123"}])
def test_whichever_of_several_models_it_is_it_is_masked(party: dict[str, str]) -> None:
    """SE-2"""
    shown = mask(Signed, {"party": party})["party"]
    assert [shown[name] for name in party if name in ("name", "tax_id")] == ["***"]


def test_nothing_is_not_masked_as_something() -> None:
    """SE-2"""
    assert mask(Signed, {"email": None, "main": None}) == {"email": None, "main": None}


def test_a_message_tells_its_trace_or_its_own_id() -> None:
    """OB-2"""
    drawn = UUID(int=5)

    def message(trace: str | None) -> Message[OrderPlaced]:
        event = OrderPlaced(order_id=1)
        now = Clock().now()
        return Message(drawn, "t", 1, "c", "a", "1", event, now, trace_context=trace)

    assert message(None).trace_id == drawn.hex
    assert message(f"00-{'a' * 32}-{'b' * 16}-01").trace_id == "a" * 32
