"""Whoever changes something over HTTP is written down, in the transaction of the change.

A new route that changes something fails here until it has an example.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, event
from tests.dying import drain_through

from shop.testing import BROKER_ORDER, SHIP_TO, SKU, Sandbox
from shop.web import create_web

READING = {"GET", "HEAD", "OPTIONS"}
PRODUCT = {"name": "急須", "unitPrice": 4980}
ORDER = {"lines": [{"sku": SKU, "quantity": 1}], "shipTo": SHIP_TO}
NOBODYS = 12345


@dataclass(frozen=True)
class Request:
    """Where, and with what."""

    place: str | int
    body: object = None
    key: str | None = None


@dataclass(frozen=True)
class Example:
    """A request that changes something, one that is refused, and what the log says of the first."""

    operation_type: str
    subject: str
    make: Callable[[Sandbox], Request]
    refused: Callable[[Sandbox], Request]


def order_in(*moves: str) -> Callable[[Sandbox], Request]:
    """An order that has gone so far."""

    def make(shop: Sandbox) -> Request:
        order_id = shop.place()
        for move in moves:
            if move == "prepare":
                shop.work()
                shop.run("create-shipment")
            else:
                shop.web.post(f"/api/order/{order_id}/{move}").raise_for_status()
        return Request(order_id)

    return make


def to_cancel(*moves: str) -> Callable[[Sandbox], Request]:
    return lambda shop: Request(order_in(*moves)(shop).place, {"reason": "USER_CANCEL"})


def asking(place: str | int, body: object = None, key: str | None = None) -> Any:
    return lambda shop: Request(place, body, key)


def lost_file(shop: Sandbox) -> Request:
    shop.place_and_confirm()
    shop.work()
    with shop.app.session() as session:
        shop.app.jobs.run(session, "create-shipment", by="test", reason="to lose its file")
    drain_through(shop.app, "transfer.after_reveal", between=lambda: take_all(shop))
    return Request(shop.files()[-1]["id"])


def take_all(shop: Sandbox) -> None:
    for file in shop.sent.iterdir():
        file.unlink()


def key_of_another_order(shop: Sandbox) -> Request:
    shop.do_order("k-9", by="Mika Sato").raise_for_status()
    return Request("", {**BROKER_ORDER, "quantity": "1"}, "k-9")


SENT = ("confirm", "prepare", "mark-shipped")
EXAMPLES = {
    "POST /api/order": Example(
        "ORDER_PLACE",
        "order-",
        asking("", ORDER),
        asking("", {**ORDER, "lines": [{"sku": SKU, "quantity": 101}]}),
    ),
    "POST /api/order/{order_id}/confirm": Example(
        "ORDER_CONFIRM", "order-", order_in(), order_in("confirm")
    ),
    "POST /api/order/{order_id}/cancel": Example(
        "ORDER_CANCEL", "order-", to_cancel(), to_cancel("confirm", "prepare")
    ),
    "POST /api/order/{order_id}/mark-shipped": Example(
        "ORDER_MARK_SHIPPED", "order-", order_in("confirm", "prepare"), order_in("confirm")
    ),
    "POST /api/order/{order_id}/deliver": Example(
        "ORDER_DELIVER", "order-", order_in(*SENT), order_in("confirm")
    ),
    "POST /api/order/{order_id}/return": Example(
        "ORDER_RETURN", "order-", order_in(*SENT), order_in(*SENT, "return")
    ),
    "PUT /api/product/{sku}": Example(
        "PRODUCT_PUT",
        "product-",
        asking("YUNOMI-05", PRODUCT),
        asking("YUNOMI-05", {**PRODUCT, "unitPrice": -1}),
    ),
    "POST /api/stock/{sku}/receive": Example(
        "STOCK_RECEIVE", "product-", asking(SKU, {"quantity": 1}), asking("NO-1", {"quantity": 1})
    ),
    "POST /api/shipment-file/{file_id}/mark-transferred": Example(
        "SHIPMENT_FILE_MARK_TRANSFERRED", "shipment-file-", lost_file, asking(NOBODYS)
    ),
    "POST /api/shipment-file/{file_id}/send-again": Example(
        "SHIPMENT_FILE_SEND_AGAIN", "shipment-file-", lost_file, asking(NOBODYS)
    ),
    "POST /do/order": Example(
        "BROKER_ORDER_PLACE",
        "broker-order-",
        asking("", BROKER_ORDER, "k-1"),
        key_of_another_order,
    ),
}


def changing(routes: Iterable[Any]) -> Iterator[str]:
    """Every route that is more than a question, also where the API's description leaves it out."""
    for route in routes:
        # Newer FastAPIs keep a router that was included as it is.
        inside = getattr(route, "original_router", route)
        if hasattr(inside, "routes"):
            yield from changing(inside.routes)
        else:
            yield from (f"{method} {route.path}" for method in route.methods - READING)


def path_of(route: str, request: Request) -> str:
    before, _, behind = route.partition(" ")[2].partition("{")
    return f"{before}{request.place}{behind.partition('}')[2]}"


def send(shop: Sandbox, route: str, request: Request) -> httpx.Response:
    headers = {"X-Operator": "Mika Sato"} | (
        {"Idempotency-Key": request.key} if request.key else {}
    )
    method, body = route.partition(" ")[0], request.body
    return shop.web.request(method, path_of(route, request), json=body, headers=headers)


def log(shop: Sandbox) -> list[dict[str, Any]]:
    shop.work()
    items: list[dict[str, Any]] = shop.web.get("/api/operation").json()["items"]
    return items


@contextmanager
def commits(shop: Sandbox) -> Iterator[list[object]]:
    """What is committed meanwhile."""
    seen: list[object] = []

    def note(connection: Connection) -> None:
        seen.append(connection)

    event.listen(shop.app.engine, "commit", note)
    try:
        yield seen
    finally:
        event.remove(shop.app.engine, "commit", note)


def test_every_route_that_changes_something_has_an_example(small_shop: Sandbox) -> None:
    """SH-3"""
    web = create_web(small_shop.app)
    found = set(changing(web.routes))
    described = {
        f"{method.upper()} {path}"
        for path, operations in web.openapi()["paths"].items()
        for method in operations
        if method.upper() not in READING
    }
    assert described <= found, "a router that was overlooked"
    assert found == set(EXAMPLES)


@pytest.mark.parametrize("route", EXAMPLES)
def test_a_change_is_logged_once_in_its_own_transaction(shop: Sandbox, route: str) -> None:
    """SH-3, AU-12: who, where and what; there is one commit, so it holds both or neither."""
    example = EXAMPLES[route]
    request = example.make(shop)
    before = log(shop)
    with commits(shop) as seen:
        answer = send(shop, route, request)
    assert answer.is_success, answer.text
    assert len(seen) == 1
    entry, *rest = log(shop)
    assert rest == before
    assert entry["operationType"] == example.operation_type
    assert entry["performedBy"] == "Mika Sato"
    assert entry["requestPath"] == path_of(route, request)
    assert entry["subject"].startswith(example.subject)
    assert entry["subject"] != example.subject


@pytest.mark.parametrize("route", EXAMPLES)
def test_a_change_that_was_refused_is_not_logged(shop: Sandbox, route: str) -> None:
    """SH-3, AU-12"""
    request = EXAMPLES[route].refused(shop)
    before = log(shop)
    with commits(shop) as seen:
        answer = send(shop, route, request)
    assert answer.is_client_error, answer.text
    assert seen == []
    assert log(shop) == before


def test_an_order_to_the_broker_is_logged_once_for_all_repeats(shop: Sandbox) -> None:
    """SH-3, ID-2: by its key and its message; its account is told to nobody."""
    for _ in range(3):
        shop.do_order("k-1", by="Mika Sato").raise_for_status()
    (entry,) = log(shop)
    (message,) = shop.events("SEND_ORDER")
    assert entry["details"] == {"idempotencyKey": "k-1"}
    assert entry["subject"] == f"broker-order-{message.message_id}"
    assert BROKER_ORDER["account"] not in str(entry)


def test_the_longest_key_of_an_order_to_the_broker_is_logged(shop: Sandbox) -> None:
    """SH-3, ID-2"""
    shop.do_order("k" * 255).raise_for_status()
    (entry,) = log(shop)
    assert entry["details"] == {"idempotencyKey": "k" * 255}
