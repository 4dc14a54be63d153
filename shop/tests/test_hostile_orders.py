"""Whatever is sent to /do/order: a refusal with its reason, never a failure, and nothing kept."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from shop.testing import BROKER_ORDER, Sandbox

TEXT = json.dumps(BROKER_ORDER)
JSON = "application/json"


def with_field(field: str) -> bytes:
    """The order with one more field, written as it stands."""
    return (TEXT[:-1] + ", " + field + "}").encode()


def with_value(name: str, value: str) -> bytes:
    """The order with this text in the place of one value."""
    return TEXT.replace(json.dumps(BROKER_ORDER[name]), value).encode()


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "not json": b"{",
    "a list": b"[]",
    "null": b"null",
    "a text": b'"order"',
    "a name twice": with_field('"quantity": "1"'),
    "a name twice, the key": with_field('"idempotencyKey": "a", "idempotencyKey": "b"'),
    "NaN": with_value("quantity", "NaN"),
    "Infinity": with_value("quantity", "Infinity"),
    "-Infinity": with_value("limitPrice", "-Infinity"),
    "a float": with_value("quantity", "1.5"),
    "a float too large": with_value("quantity", "1e999"),
    "a whole number": with_value("quantity", "100"),
    "a number of 5000 digits": with_value("quantity", "9" * 5000),
    "a huge exponent": with_value("quantity", '"1e999999999"'),
    "a tiny exponent": with_value("limitPrice", '"1e-999999999"'),
    "many digits": with_value("quantity", '"' + "9" * 100_000 + '"'),
    "many decimals": with_value("limitPrice", '"0.' + "0" * 100_000 + '1"'),
    "full-width digits": with_value("quantity", '"１００"'),
    "other digits": with_value("quantity", '"١٠٠"'),
    "an underscore": with_value("quantity", '"1_000"'),
    "white space": with_value("quantity", '"\\t100"'),
    "a minus sign": with_value("quantity", '"−1"'),
    "full-width letters": with_value("symbol", '"ＡＡＰＬ"'),
    "homoglyphs": with_value("symbol", '"ААРL"'),
    "NUL": with_value("symbol", '"A\\u0000"'),
    "raw NUL": with_value("symbol", '"A\x00"'),
    "half a character": with_value("account", '"\\ud800"'),
    "half a character as a name": with_field('"\\ud800": 1'),
    "half a character as a tag": with_field('"clientTags": ["\\udfff"]'),
    "half a character as the key": with_field('"idempotencyKey": "\\ud800"'),
    "no UTF-8": TEXT.encode("utf-16"),
    "bad UTF-8": TEXT.encode()[:-1] + b', "x": "\xff"}',
    "a byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "deep inside": with_field('"clientTags": ' + "[" * 1000 + "]" * 1000),
    "a thousand fields": with_field(", ".join(f'"f{number}": 1' for number in range(1000))),
    "a thousand tags": with_field('"clientTags": ' + json.dumps(["x"] * 1000)),
    "an unknown field": with_field('"__class__": "x"'),
    "true for an amount": with_value("quantity", "true"),
    "an object for an amount": with_value("quantity", '{"value": "1"}'),
    "text after the end": TEXT.encode() + b"{}",
    "a comment": b"/* hello */" + TEXT.encode(),
    "a megabyte": b'{"symbol": "' + b"A" * 1_000_000 + b'"}',
    "a key that is a number": with_field('"idempotencyKey": 7'),
}


@pytest.fixture(scope="module")
def shop(module_shop: Sandbox) -> Iterator[Sandbox]:
    yield module_shop
    assert module_shop.statuses("SEND_ORDER") == []
    with module_shop.app.session() as session:
        assert module_shop.app.ledger.list(session) == []


def send(shop: Sandbox, body: bytes, content_type: str | None = JSON, key: str = "k-1") -> Any:
    headers = [(b"Idempotency-Key", key.encode())]
    if content_type is not None:
        headers.append((b"Content-Type", content_type.encode("latin-1")))
    answer = shop.web.post("/do/order", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"]
    return answer


@pytest.mark.parametrize("name", HOSTILE)
def test_a_body_that_is_no_order_is_refused_with_the_reason(shop: Sandbox, name: str) -> None:
    """SE-4, ID-4"""
    send(shop, HOSTILE[name])


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("a name twice", "quantity"),
        ("NaN", "NaN"),
        ("deep lists", "32"),
        ("bad UTF-8", "UTF-8"),
    ],
)
def test_what_is_no_strict_json_is_told_why(shop: Sandbox, body: str, word: str) -> None:
    """SE-4"""
    answer = send(shop, HOSTILE[body])
    assert (answer.status_code, answer.json()["code"]) == (400, "MALFORMED_BODY")
    assert word in answer.json()["detail"]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/xml",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
        "application/json; charset=utf-16",
        "application/json; charset=shift_jis",
        ";;;",
    ],
)
def test_an_order_that_is_not_sent_as_json_is_refused(
    shop: Sandbox, content_type: str | None
) -> None:
    """SE-4"""
    send(shop, TEXT.encode(), content_type)


@pytest.mark.parametrize("key", ["", "k" * 256, "急", "a\tb", '"half', '"a"b', "\x7f"])
def test_a_key_that_cannot_be_one_is_refused(shop: Sandbox, key: str) -> None:
    """ID-2"""
    headers = [(b"Idempotency-Key", key.encode()), (b"Content-Type", JSON.encode())]
    answer = shop.web.post("/do/order", content=TEXT, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["code"] in ("INVALID_KEY", "MISSING_KEY")


def test_a_refusal_does_not_repeat_what_was_sent(shop: Sandbox) -> None:
    """SE-2"""
    answer = send(shop, with_value("account", '"8871-2040 secret"'))
    assert "8871" not in answer.text
