"""The HTTP API: what it answers, and in which words it refuses."""

import pytest
from sqlalchemy import text

from shop.testing import SHIP_TO, SKU, Sandbox


def test_a_placed_order_is_answered_in_full(shop: Sandbox) -> None:
    """SH-1: at the prices of the day, whatever the customer thinks they are."""
    shop.offer("YUNOMI-05", stock=5, unit_price=1200)
    answer = shop.ask_for((SKU, 1), ("YUNOMI-05", 5), email="a@example.com", language="en")
    order = answer.json()
    assert answer.status_code == 201
    assert (order["status"], order["totalPrice"], order["language"]) == ("PENDING", 10980, "en")
    assert (order["shipTo"], order["customerEmail"]) == (SHIP_TO, "a@example.com")
    assert [(line["sku"], line["quantity"], line["unitPrice"]) for line in order["lines"]] == [
        (SKU, 1, 4980),
        ("YUNOMI-05", 5, 1200),
    ]
    assert shop.order(order["id"]) == order


def test_an_order_keeps_the_price_it_was_placed_at(shop: Sandbox) -> None:
    """SH-1"""
    order_id = shop.place()
    shop.offer(unit_price=9999)
    assert shop.order(order_id)["totalPrice"] == 4980


def test_what_is_not_sold_cannot_be_ordered(shop: Sandbox) -> None:
    """SH-1"""
    answer = shop.ask_for(("CHASEN-09", 1))
    assert answer.status_code == 422
    assert (answer.json()["code"], answer.json()["sku"]) == ("UNKNOWN_PRODUCT", "CHASEN-09")
    assert shop.web.get("/api/order").json()["items"] == []


def test_an_order_goes_its_way_to_the_customer(shop: Sandbox) -> None:
    """SH-1, SH-2"""
    order_id = shop.place()
    assert shop.web.post(f"/api/order/{order_id}/confirm").json()["status"] == "CONFIRMED"
    shop.work()
    shop.run("create-shipment")
    assert shop.order(order_id)["status"] == "PREPARING_SHIPMENT"
    assert shop.web.post(f"/api/order/{order_id}/mark-shipped").json()["status"] == "SHIPPED"
    assert shop.web.post(f"/api/order/{order_id}/deliver").json()["status"] == "DELIVERED"


@pytest.mark.parametrize("reason", ["PAYMENT_FAILED", "TIMEOUT", "USER_CANCEL"])
@pytest.mark.parametrize("confirmed", [False, True])
def test_an_order_is_cancelled_with_a_reason(shop: Sandbox, reason: str, confirmed: bool) -> None:
    """SH-1"""
    order_id = shop.place()
    if confirmed:
        shop.confirm(order_id)
    answer = shop.cancel(order_id, reason)
    assert (answer.status_code, answer.json()["status"]) == (200, "CANCELLED")
    assert shop.order(order_id)["cancelReason"] == reason
    (event,) = {one.message_id for one in shop.events("ORDER_CANCELLED")}
    assert event


def test_an_order_in_preparation_cannot_be_cancelled(shop: Sandbox) -> None:
    """SH-1"""
    order_id = shop.place_and_confirm()
    shop.work()
    shop.run("create-shipment")
    answer = shop.cancel(order_id)
    assert (answer.status_code, answer.json()["currentStatus"]) == (409, "PREPARING_SHIPMENT")
    assert shop.events("ORDER_CANCELLED") == []


@pytest.mark.parametrize("reason", [None, "", "BORED", 7])
def test_a_cancellation_needs_one_of_the_reasons(small_shop: Sandbox, reason: object) -> None:
    """SH-1"""
    order_id = small_shop.place()
    answer = small_shop.web.post(f"/api/order/{order_id}/cancel", json={"reason": reason})
    assert answer.status_code == 422
    assert small_shop.order(order_id)["status"] == "PENDING"


@pytest.mark.parametrize("move", ["mark-shipped", "deliver"])
def test_a_move_out_of_turn_is_a_conflict_that_names_the_status(shop: Sandbox, move: str) -> None:
    """SH-1"""
    answer = shop.web.post(f"/api/order/{shop.place()}/{move}")
    problem = answer.json()
    assert answer.status_code == problem["status"] == 409
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == "INVALID_STATUS_TRANSITION"
    assert problem["currentStatus"] == "PENDING"


@pytest.mark.parametrize("move", ["confirm", "mark-shipped", "deliver", "return"])
def test_an_unknown_order_is_not_found(shop: Sandbox, move: str) -> None:
    """SH-1"""
    for answer in (shop.web.post(f"/api/order/12345/{move}"), shop.web.get("/api/order/12345")):
        assert answer.status_code == 404
        assert answer.json()["code"] == "ORDER_NOT_FOUND"


def test_there_is_no_ship_route(small_shop: Sandbox) -> None:
    """SH-2"""
    order_id = small_shop.place_and_confirm()
    answer = small_shop.web.post(f"/api/order/{order_id}/ship")
    assert answer.status_code == 404
    assert answer.json()["code"] == "NOT_FOUND"
    assert small_shop.order(order_id)["status"] == "CONFIRMED"


def test_no_route_prepares_a_shipment(small_shop: Sandbox) -> None:
    """SH-1, SH-2"""
    paths = small_shop.web.get("/openapi.json").json()["paths"]
    moves = [path for path in paths if path.startswith("/api/order/{")]
    assert sorted(moves) == [
        "/api/order/{order_id}",
        "/api/order/{order_id}/cancel",
        "/api/order/{order_id}/confirm",
        "/api/order/{order_id}/deliver",
        "/api/order/{order_id}/mark-shipped",
        "/api/order/{order_id}/return",
        "/api/order/{order_id}/shipment",
    ]


def test_orders_are_listed_newest_first_in_pages(shop: Sandbox) -> None:
    """SH-1"""
    placed = [shop.place() for _ in range(5)]
    first = shop.web.get("/api/order", params={"limit": 3}).json()
    rest = shop.web.get("/api/order", params={"limit": 3, "before": first["next"]}).json()
    seen = [order["id"] for order in first["items"] + rest["items"]]
    assert seen == sorted(placed, reverse=True)
    assert rest["next"] is None


@pytest.mark.parametrize(
    "path",
    [
        "/api/order?limit=0",
        "/api/order?limit=201",
        "/api/order?before=x",
        "/api/order/0",
        "/api/order/x",
        "/api/order/99999999999999999999",
        "/api/operation?limit=-1",
    ],
)
def test_a_question_that_cannot_be_meant_is_refused(small_shop: Sandbox, path: str) -> None:
    """SE-4"""
    answer = small_shop.web.get(path)
    assert answer.status_code == 422
    assert answer.json()["code"] == "INVALID_REQUEST"


def test_a_failure_of_the_shop_tells_no_secrets(small_shop: Sandbox) -> None:
    """SE-4"""
    with small_shop.app.session() as session:
        session.execute(text("DROP TABLE order_lines"))
        session.execute(text("DROP TABLE orders"))
    answer = small_shop.web.get("/api/order")
    assert answer.status_code == 500
    assert answer.json()["code"] == "INTERNAL_ERROR"
    assert "orders" not in answer.text


def test_a_wrong_method_is_a_problem_too(small_shop: Sandbox) -> None:
    """SH-2"""
    answer = small_shop.web.delete("/api/order/1")
    assert answer.status_code == 405
    assert answer.json()["code"] == "METHOD_NOT_ALLOWED"
    assert answer.headers["allow"] == "GET"
