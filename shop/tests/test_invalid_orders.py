"""What is not an order is refused, with each wrong field named and nothing stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from shop.testing import Sandbox

LINE = {"name": "急須", "quantity": 1, "unitPrice": 4980}


def an_order(**changes: Any) -> dict[str, Any]:
    return {"lines": [LINE], "customerEmail": "a@example.com"} | changes


def a_line(**changes: Any) -> dict[str, Any]:
    return an_order(lines=[LINE | changes])


WRONG = [
    ({}, "lines"),
    (an_order(lines=[]), "lines"),
    (an_order(lines=[LINE] * 101), "lines"),
    (an_order(lines="x"), "lines"),
    (an_order(lines=[1]), "lines.0"),
    (an_order(lines=[LINE, {}]), "lines.1.name"),
    (an_order(price=1), "price"),
    (an_order(customer_email="a@example.com"), "customer_email"),
    (a_line(discount=1), "lines.0.discount"),
    (a_line(name=""), "lines.0.name"),
    (a_line(name="   "), "lines.0.name"),
    (a_line(name="a" * 201), "lines.0.name"),
    (a_line(name="a\x00b"), "lines.0.name"),
    (a_line(name="a\r\nb"), "lines.0.name"),
    (a_line(name="a\u2028b"), "lines.0.name"),
    (a_line(name=None), "lines.0.name"),
    (a_line(name=1), "lines.0.name"),
    (a_line(quantity=0), "lines.0.quantity"),
    (a_line(quantity=-1), "lines.0.quantity"),
    (a_line(quantity=1.5), "lines.0.quantity"),
    (a_line(quantity=True), "lines.0.quantity"),
    (a_line(quantity="1"), "lines.0.quantity"),
    (a_line(quantity=10_001), "lines.0.quantity"),
    (a_line(unitPrice=-1), "lines.0.unitPrice"),
    (a_line(unitPrice=0.1), "lines.0.unitPrice"),
    (a_line(unitPrice=10**30), "lines.0.unitPrice"),
    (a_line(unitPrice=None), "lines.0.unitPrice"),
    (an_order(customerEmail="nobody"), "customerEmail"),
    (an_order(customerEmail="a@b"), "customerEmail"),
    (an_order(customerEmail="a@example.com\r\nBcc: b@example.com"), "customerEmail"),
    (an_order(customerEmail="=?utf-8?q?=0A?=@example.com"), "customerEmail"),
    (an_order(customerEmail="a" * 300 + "@example.com"), "customerEmail"),
    (an_order(customerEmail=7), "customerEmail"),
]

UNREADABLE = [
    b"",
    b"{",
    b"null",
    b"[]",
    b'"order"',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"lines": ' + b"9" * 5000 + b"}",
    b'{"lines": [{"name": "\\ud800", "quantity": 1, "unitPrice": 1}]}',
    b'{"\\ud800": 1, "lines": []}',
    b'{"lines": [{"name": "a", "quantity": NaN, "unitPrice": Infinity}]}',
]


@pytest.fixture(scope="module")
def shop(module_shop: Sandbox) -> Iterator[Sandbox]:
    yield module_shop
    assert module_shop.web.get("/api/order").json()["items"] == []


@pytest.mark.parametrize(("body", "field"), WRONG)
def test_a_wrong_field_is_named(shop: Sandbox, body: dict[str, Any], field: str) -> None:
    """SH-1, SE-4"""
    answer = shop.web.post("/api/order", json=body)
    problem = answer.json()
    assert answer.status_code == 422
    assert problem["code"] == "INVALID_REQUEST"
    assert field in {error["field"] for error in problem["errors"]}


def test_all_wrong_fields_are_named_at_once(shop: Sandbox) -> None:
    """SH-1"""
    body = {"lines": [LINE | {"quantity": 0, "unitPrice": -1}], "customerEmail": "nobody"}
    problem = shop.web.post("/api/order", json=body).json()
    fields = {error["field"] for error in problem["errors"]}
    assert fields == {"lines.0.quantity", "lines.0.unitPrice", "customerEmail"}


@pytest.mark.parametrize("body", UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_cannot_be_read_is_the_senders_fault(shop: Sandbox, body: bytes) -> None:
    """SE-4"""
    answer = shop.web.post("/api/order", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_refusal_does_not_repeat_what_was_sent(shop: Sandbox) -> None:
    """SE-2"""
    answer = shop.web.post("/api/order", json=an_order(customerEmail="hanako@@example.com"))
    assert "hanako" not in answer.text


def test_a_body_that_is_too_large_is_refused(shop: Sandbox) -> None:
    """SE-4"""
    answer = shop.web.post("/api/order", content=b'"' + b"x" * 300_000 + b'"')
    assert answer.status_code == 413
    assert answer.json()["code"] == "CONTENT_TOO_LARGE"


def test_a_body_without_a_length_is_counted_too(shop: Sandbox) -> None:
    """SE-4"""
    chunks = (b"x" * 10_000 for _ in range(100))
    headers = {"Content-Type": "application/json"}
    assert shop.web.post("/api/order", content=chunks, headers=headers).status_code == 413
