"""What is not an order is refused, with each wrong field named and nothing stored."""

from collections.abc import Iterator
from typing import Any

import pytest

from shop.testing import SHIP_TO, SKU, Sandbox

LINE = {"sku": SKU, "quantity": 1}


def an_order(**changes: Any) -> dict[str, Any]:
    return {"lines": [LINE], "shipTo": SHIP_TO, "customerEmail": "a@example.com"} | changes


def a_line(**changes: Any) -> dict[str, Any]:
    return an_order(lines=[LINE | changes])


def sent_to(**changes: Any) -> dict[str, Any]:
    return an_order(shipTo=SHIP_TO | changes)


WRONG = [
    ({}, "lines"),
    (an_order(lines=[]), "lines"),
    (an_order(lines=[{"sku": f"A-{number}", "quantity": 1} for number in range(101)]), "lines"),
    (an_order(lines="x"), "lines"),
    (an_order(lines=[1]), "lines.0"),
    (an_order(lines=[LINE, {}]), "lines.1.sku"),
    (an_order(lines=[LINE, LINE]), "lines"),
    (an_order(price=1), "price"),
    (an_order(customer_email="a@example.com"), "customer_email"),
    (an_order(language="fr"), "language"),
    (a_line(discount=1), "lines.0.discount"),
    (a_line(unitPrice=1), "lines.0.unitPrice"),
    (a_line(sku=""), "lines.0.sku"),
    (a_line(sku="a"), "lines.0.sku"),
    (a_line(sku="A" * 41), "lines.0.sku"),
    (a_line(sku="A\n"), "lines.0.sku"),
    (a_line(sku="../A"), "lines.0.sku"),
    (a_line(sku="A' OR 1=1"), "lines.0.sku"),
    (a_line(sku=None), "lines.0.sku"),
    (a_line(sku=1), "lines.0.sku"),
    (a_line(quantity=0), "lines.0.quantity"),
    (a_line(quantity=-1), "lines.0.quantity"),
    (a_line(quantity=1.5), "lines.0.quantity"),
    (a_line(quantity=True), "lines.0.quantity"),
    (a_line(quantity="1"), "lines.0.quantity"),
    (a_line(quantity=10_001), "lines.0.quantity"),
    (an_order(shipTo=None), "shipTo"),
    (an_order(shipTo={}), "shipTo.name"),
    (sent_to(country="JP"), "shipTo.country"),
    (sent_to(name=""), "shipTo.name"),
    (sent_to(name="   "), "shipTo.name"),
    (sent_to(name="a" * 101), "shipTo.name"),
    (sent_to(name="a\x00b"), "shipTo.name"),
    (sent_to(name="a\r\nb"), "shipTo.name"),
    (sent_to(name="a\u2028b"), "shipTo.name"),
    (sent_to(name=1), "shipTo.name"),
    (sent_to(address="a" * 301), "shipTo.address"),
    (sent_to(address="a\nb"), "shipTo.address"),
    (sent_to(postalCode="1000001x"), "shipTo.postalCode"),
    (sent_to(postalCode="１００-０００１"), "shipTo.postalCode"),
    (sent_to(postalCode="100-0001\n"), "shipTo.postalCode"),
    (sent_to(phone="=1+1"), "shipTo.phone"),
    (sent_to(phone="03-1234-5678\n"), "shipTo.phone"),
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
    b'{"lines": [{"sku": "\\ud800", "quantity": 1}], "shipTo": {"name": "\\ud800"}}',
    b'{"\\ud800": 1, "lines": []}',
    b'{"lines": [{"sku": "A", "quantity": NaN}, {"sku": "B", "quantity": Infinity}]}',
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
    body = {"lines": [{"sku": "?", "quantity": 0}], "shipTo": SHIP_TO, "customerEmail": "nobody"}
    problem = shop.web.post("/api/order", json=body).json()
    fields = {error["field"] for error in problem["errors"]}
    assert fields == {"lines.0.quantity", "lines.0.sku", "customerEmail"}


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
