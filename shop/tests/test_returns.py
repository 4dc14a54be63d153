"""What has left can come back: a shipment of its own kind, told to the warehouse like any other."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from shop.testing import SHIP_TO, SKU, Sandbox

RIVALS = 10


def sent_order(shop: Sandbox, *moves: str) -> int:
    """An order of two products that the warehouse has been told of, and what came after."""
    shop.offer("YUNOMI-05", stock=5)
    order_id: int = shop.ask_for((SKU, 1), ("YUNOMI-05", 5)).raise_for_status().json()["id"]
    shop.confirm(order_id)
    shop.work()
    shop.run("create-shipment")
    for move in moves:
        shop.web.post(f"/api/order/{order_id}/{move}").raise_for_status()
    shop.work()
    return order_id


def shipped_order(shop: Sandbox) -> int:
    return sent_order(shop, "mark-shipped")


def ask(shop: Sandbox, order_id: int) -> httpx.Response:
    return shop.web.post(f"/api/order/{order_id}/return", headers={"X-Operator": "Mika Sato"})


def one_of(shop: Sandbox, order_id: int, kind: str) -> dict[str, Any]:
    (found,) = [one for one in shop.shipments(order_id) if one["shipmentType"] == kind]
    return found


@pytest.mark.parametrize("moves", [("mark-shipped",), ("mark-shipped", "deliver")])
def test_an_order_that_has_left_can_be_fetched(shop: Sandbox, moves: tuple[str, ...]) -> None:
    """SH-10: from the carrier as from the customer, with all that was in it."""
    order_id = sent_order(shop, *moves)
    before = shop.order(order_id)
    answer = ask(shop, order_id)
    shipment = answer.json()
    assert answer.status_code == 201
    assert (shipment["shipmentType"], shipment["status"]) == ("RETURN", "READY")
    assert (shipment["orderId"], shipment["fileId"]) == (order_id, None)
    assert shipment["orderNumber"] == before["orderNumber"]
    assert [(item["sku"], item["quantity"]) for item in shipment["items"]] == [
        (SKU, 1),
        ("YUNOMI-05", 5),
    ]
    assert one_of(shop, order_id, "RETURN") == shipment
    assert shop.order(order_id) == before, "an order does not change by being sent back"


def test_a_second_return_is_refused(shop: Sandbox) -> None:
    """SH-10: also after the first was told to the warehouse."""
    order_id = shipped_order(shop)
    assert ask(shop, order_id).status_code == 201
    early = ask(shop, order_id)
    shop.run("export-shipment-file")
    for answer in (early, ask(shop, order_id)):
        assert (answer.status_code, answer.json()["code"]) == (409, "RETURN_EXISTS")
        assert str(order_id) in answer.json()["detail"]
    assert len(shop.shipments(order_id)) == 2


def test_of_many_who_ask_at_once_one_gets_a_return(shop: Sandbox) -> None:
    """SH-10"""
    order_id = shipped_order(shop)
    with ThreadPoolExecutor(RIVALS) as pool:
        answers = list(pool.map(lambda _: ask(shop, order_id), range(RIVALS)))
    refused = [answer.json()["code"] for answer in answers if answer.status_code != 201]
    assert refused == ["RETURN_EXISTS"] * (RIVALS - 1)
    assert len(shop.shipments(order_id)) == 2


def pending(shop: Sandbox) -> int:
    return shop.place()


def confirmed(shop: Sandbox) -> int:
    return shop.place_and_confirm()


def cancelled(shop: Sandbox) -> int:
    order_id = shop.place()
    shop.cancel(order_id).raise_for_status()
    return order_id


@pytest.mark.parametrize(
    ("order", "status"),
    [
        (pending, "PENDING"),
        (confirmed, "CONFIRMED"),
        (sent_order, "PREPARING_SHIPMENT"),
        (cancelled, "CANCELLED"),
    ],
)
def test_what_has_not_left_cannot_come_back(shop: Sandbox, order: Any, status: str) -> None:
    """SH-10, SH-1: and the refusal names the order's status."""
    order_id = order(shop)
    before = shop.shipments(order_id)
    answer = ask(shop, order_id)
    assert (answer.status_code, answer.json()["code"]) == (409, "INVALID_STATUS_TRANSITION")
    assert answer.json()["currentStatus"] == status
    assert status in answer.json()["detail"]
    assert shop.shipments(order_id) == before


def test_an_order_that_is_not_there_cannot_come_back(shop: Sandbox) -> None:
    """SH-10"""
    answer = ask(shop, 12345)
    assert (answer.status_code, answer.json()["code"]) == (404, "ORDER_NOT_FOUND")


def test_a_return_goes_to_the_warehouse_with_the_next_file(shop: Sandbox) -> None:
    """SH-10, SH-8: and the shipment that went out stays as it is."""
    order_id = shipped_order(shop)
    outbound = one_of(shop, order_id, "OUTBOUND")
    ask(shop, order_id).raise_for_status()
    shop.run("export-shipment-file")
    _, file = shop.files()
    text = io.StringIO((shop.sent / file["name"]).read_text("utf-8-sig"), newline="")
    lines = list(csv.DictReader(text))
    assert [(line["shipment_type"], line["sku"], line["quantity"]) for line in lines] == [
        ("RETURN", SKU, "1"),
        ("RETURN", "YUNOMI-05", "5"),
    ]
    assert {line["recipient_name"] for line in lines} == {SHIP_TO["name"]}
    fetched = one_of(shop, order_id, "RETURN")
    assert (fetched["status"], fetched["fileId"]) == ("TRANSFERRED", file["id"])
    assert one_of(shop, order_id, "OUTBOUND") == outbound


def test_the_nightly_job_tells_of_returns_too(shop: Sandbox) -> None:
    """SH-10, SH-7: there need not be a new order."""
    order_id = shipped_order(shop)
    ask(shop, order_id).raise_for_status()
    shop.run("create-shipment")
    assert one_of(shop, order_id, "RETURN")["status"] == "TRANSFERRED"
    assert len(shop.files()) == 2


def test_asking_for_a_return_leaves_stock_alone(shop: Sandbox) -> None:
    """SH-10, SH-5: nothing has come back yet; what does is received by hand."""
    order_id = shipped_order(shop)
    before = shop.stock(), shop.stock("YUNOMI-05")
    assert before == ((100, 99, 0, 1), (5, 0, 0, 5))
    ask(shop, order_id).raise_for_status()
    shop.run("export-shipment-file")
    assert (shop.stock(), shop.stock("YUNOMI-05")) == before


def test_shipments_are_listed_newest_first_in_pages(shop: Sandbox) -> None:
    """SH-10: of an order, and of all."""
    first, second = shipped_order(shop), shipped_order(shop)
    for order_id in (first, second):
        ask(shop, order_id).raise_for_status()
    wanted = [(second, "RETURN"), (first, "RETURN"), (second, "OUTBOUND"), (first, "OUTBOUND")]
    page = shop.web.get("/api/shipment", params={"limit": 3}).json()
    rest = shop.web.get("/api/shipment", params={"limit": 3, "before": page["next"]}).json()
    found = [*page["items"], *rest["items"]]
    assert [(one["orderId"], one["shipmentType"]) for one in found] == wanted
    assert (page["next"], rest["next"]) == (found[2]["id"], None)
    assert [one for one in found if one["orderId"] == first] == shop.shipments(first)
    assert all(len(one["items"]) == 2 for one in found)
