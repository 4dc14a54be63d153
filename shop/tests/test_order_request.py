"""OrderRequest v1.1: what is taken, what is refused and named, and that two spellings are one."""

import json
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shop.brokerage.messages import SendOrder
from shop.brokerage.model import OrderRequest

ORDER = {
    "symbol": "7203.T",
    "side": "BUY",
    "quantity": "100",
    "orderType": "LIMIT",
    "limitPrice": "2512.5",
    "account": "8871-2040",
}


def order(**changes: Any) -> dict[str, Any]:
    changed = ORDER | changes
    return {name: value for name, value in changed.items() if value is not ...}


def read(body: dict[str, Any]) -> OrderRequest:
    return OrderRequest.model_validate_json(json.dumps(body))


def written(body: dict[str, Any]) -> Any:
    """What is digested, sent and kept."""
    return read(body).model_dump(mode="json")


def wrong_fields(body: dict[str, Any]) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        read(body)
    return {str(error["loc"][0]) for error in refused.value.errors()}


AMOUNTS = [
    0,
    1,
    1.5,
    -1,
    10**40,
    True,
    "",
    " 1",
    "1 ",
    "1\n",
    "+1",
    "-1",
    "0",
    "0.0",
    "0.00000000",
    "01",
    ".5",
    "1.",
    "1e3",
    "1E3",
    "1e999999999",
    "1_000",
    "1,000",
    "0x10",
    "NaN",
    "Infinity",
    "inf",
    "１００",  # full width
    "١٠",  # Arabic-Indic
    "1" * 13,
    "1." + "1" * 9,
    "9" * 100_000,
    [],
    {},
]


@pytest.mark.parametrize("amount", AMOUNTS, ids=lambda amount: str(amount)[:20])
@pytest.mark.parametrize("field", ["quantity", "limitPrice"])
def test_what_is_no_plain_decimal_as_text_is_refused(field: str, amount: object) -> None:
    """ID-4: JSON numbers too, whole ones like the others, or a client learns it too late."""
    assert wrong_fields(order(**{field: amount})) == {field}


@pytest.mark.parametrize(
    "changes",
    [
        {"symbol": ""},
        {"symbol": "A" * 33},
        {"symbol": "AAPL "},
        {"symbol": "ＡＡＰＬ"},
        {"symbol": "ААРL"},  # Cyrillic
        {"symbol": "ı"},  # becomes I in upper case
        {"symbol": "A\x00"},
        {"symbol": 7203},
        {"side": "buy"},
        {"side": "HOLD"},
        {"orderType": "limit"},
        {"timeInForce": "WEEK"},
        {"account": ""},
        {"account": "a b"},
        {"account": "口座"},
        {"account": "1" * 35},
        {"account": None},
        {"version": "1.0"},
        {"version": 1.1},
        {"clientTags": "tag"},
        {"clientTags": {"a": "b"}},
        {"clientTags": [""]},
        {"clientTags": ["  "]},
        {"clientTags": ["a\nb"]},
        {"clientTags": ["a\x00b"]},
        {"clientTags": ["a\u202eb"]},
        {"clientTags": ["x" * 51]},
        {"clientTags": [1]},
        {"clientTags": ["x"] * 21},
        {"idempotencyKey": ""},
        {"idempotencyKey": "x" * 256},
        {"price": "1"},
        {"limit_price": "1"},
    ],
    ids=str,
)
def test_a_wrong_field_is_named(changes: dict[str, Any]) -> None:
    """ID-4"""
    assert wrong_fields(order(**changes)) == set(changes)


@pytest.mark.parametrize(
    ("order_type", "limit_price", "stop_price", "wrong"),
    [
        ("MARKET", "1", ..., {"limitPrice"}),
        ("MARKET", "1", "1", {"limitPrice", "stopPrice"}),
        ("LIMIT", ..., ..., {"limitPrice"}),
        ("LIMIT", None, ..., {"limitPrice"}),
        ("LIMIT", "1", "1", {"stopPrice"}),
        ("STOP", ..., ..., {"stopPrice"}),
        ("STOP", "1", ..., {"limitPrice", "stopPrice"}),
        ("STOP_LIMIT", ..., "1", {"limitPrice"}),
        ("STOP_LIMIT", "1", ..., {"stopPrice"}),
        ("STOP_LIMIT", ..., ..., {"limitPrice", "stopPrice"}),
    ],
)
def test_a_price_that_does_not_fit_the_type_is_named(
    order_type: str, limit_price: object, stop_price: object, wrong: set[str]
) -> None:
    """ID-4"""
    body = order(orderType=order_type, limitPrice=limit_price, stopPrice=stop_price)
    assert wrong_fields(body) == wrong


def test_all_that_is_wrong_is_named_at_once() -> None:
    """ID-4"""
    assert wrong_fields({"side": "x", "quantity": 1.5, "surprise": 1}) == {
        "symbol",
        "side",
        "quantity",
        "orderType",
        "account",
        "surprise",
    }


def test_an_order_is_written_in_one_way() -> None:
    """ID-4"""
    spelt = order(symbol="aapl", quantity="1.50", limitPrice="10.0", clientTags=[" e", *"dcbaaf"])
    assert written(spelt) == {
        "version": "1.1",
        "symbol": "AAPL",
        "side": "BUY",
        "quantity": "1.5",
        "orderType": "LIMIT",
        "limitPrice": "10",
        "stopPrice": None,
        "timeInForce": "DAY",
        "account": "8871-2040",
        "clientTags": ["a", "b", "c", "d", "e", "f"],
    }


def test_small_and_large_amounts_are_written_without_exponent() -> None:
    """ID-4"""
    kept = written(order(quantity="100000000000", limitPrice="0.00000001"))
    assert (kept["quantity"], kept["limitPrice"]) == ("100000000000", "0.00000001")


def test_the_key_is_no_part_of_the_order() -> None:
    """ID-2"""
    assert written(order(idempotencyKey="k-1")) == written(order())


def test_an_order_shows_its_account_to_nobody_who_prints_it() -> None:
    """SE-2"""
    event = SendOrder(client_key="k", order=read(ORDER))
    assert "8871" not in f"{event!r} {event} {event.order!r}"


# --- for all orders --------------------------------------------------------------------------

AMOUNT = st.builds(
    lambda whole, part: Decimal(whole) + Decimal(part).scaleb(-8),
    st.integers(0, 10**12 - 1),
    st.integers(1, 10**8 - 1),
).map(lambda amount: format(amount.normalize(), "f"))
LETTER = st.characters(codec="utf-8", categories=["L", "N", "P", "S"])
TAG = st.text(LETTER, min_size=1, max_size=8).map(partial(unicodedata.normalize, "NFC"))
PRICED: dict[str, tuple[str, ...]] = {
    "MARKET": (),
    "LIMIT": ("limitPrice",),
    "STOP": ("stopPrice",),
    "STOP_LIMIT": ("limitPrice", "stopPrice"),
}


@st.composite
def orders(draw: st.DrawFn) -> dict[str, Any]:
    order_type = draw(st.sampled_from(sorted(PRICED)))
    return {
        "symbol": draw(st.from_regex(r"\A[A-Z0-9][A-Z0-9./-]{0,31}\Z")),
        "side": draw(st.sampled_from(["BUY", "SELL"])),
        "quantity": draw(AMOUNT),
        "orderType": order_type,
        **{price: draw(AMOUNT) for price in PRICED[order_type]},
        "timeInForce": draw(st.sampled_from(["DAY", "GTC", "IOC", "FOK"])),
        "account": draw(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9-]{0,33}\Z")),
        "clientTags": draw(st.lists(TAG, max_size=5)),
    }


def padded(amount: str, zeros: int) -> str:
    point = "" if "." in amount else "."
    room = 8 - len(amount.partition(".")[2])
    return amount + (point + "0" * min(zeros, room) if min(zeros, room) else "")


@st.composite
def another_spelling(draw: st.DrawFn, body: dict[str, Any]) -> dict[str, Any]:
    """The same order, as somebody else would write it."""
    case: Callable[[str], str] = draw(st.sampled_from([str.upper, str.lower, str.title]))
    spelt = {**body, "symbol": case(body["symbol"])}
    for name in ("quantity", "limitPrice", "stopPrice"):
        if name in body:
            spelt[name] = padded(body[name], draw(st.integers(0, 8)))
    tags = draw(st.permutations(body["clientTags"]))
    spelt["clientTags"] = [f" {tag} " for tag in tags] + tags[:1]
    if draw(st.booleans()):
        spelt["version"] = "1.1"
    if body["timeInForce"] == "DAY" and draw(st.booleans()):
        del spelt["timeInForce"]
    names = draw(st.permutations(sorted(spelt)))
    return {name: spelt[name] for name in names} | {"idempotencyKey": draw(TAG)}


@given(orders())
def test_what_was_written_is_read_as_the_same_order(body: dict[str, Any]) -> None:
    """ID-4"""
    assert written(written(body)) == written(body)


@given(st.data())
def test_two_spellings_of_one_order_are_one(data: st.DataObject) -> None:
    """ID-4"""
    body = data.draw(orders())
    assert written(data.draw(another_spelling(body))) == written(body)


@given(st.data())
def test_another_value_in_one_field_is_another_order(data: st.DataObject) -> None:
    """ID-4: nothing that matters is lost on the way."""
    body, other = data.draw(orders()), data.draw(orders())
    name = data.draw(st.sampled_from(["symbol", "side", "quantity", "account", "clientTags"]))
    is_same = (
        set(body[name]) == set(other[name]) if name == "clientTags" else body[name] == other[name]
    )
    assert (written({**body, name: other[name]}) == written(body)) == is_same
