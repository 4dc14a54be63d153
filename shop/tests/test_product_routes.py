"""Products and their stock by HTTP: put, received, shown, and refused in clear words."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from shop.inventory.table import stock
from shop.testing import SKU, Sandbox

RIVALS = 20
PRODUCT = {"name": "湯呑み", "unitPrice": 1200}


def put(shop: Sandbox, sku: str, product: Any = PRODUCT) -> httpx.Response:
    return shop.web.put(f"/api/product/{sku}", json=product)


def receive(shop: Sandbox, quantity: Any, sku: str = SKU) -> httpx.Response:
    return shop.web.post(f"/api/stock/{sku}/receive", json={"quantity": quantity})


def wrong_fields(answer: httpx.Response) -> set[str]:
    assert (answer.status_code, answer.json()["code"]) == (422, "INVALID_REQUEST")
    return {error["field"] for error in answer.json()["errors"]}


def test_a_product_is_shown_as_it_was_put(shop: Sandbox) -> None:
    """SH-1"""
    answer = put(shop, "YUNOMI-05")
    assert answer.status_code == 200
    assert answer.json() == {"sku": "YUNOMI-05", **PRODUCT}
    assert shop.web.get("/api/product/YUNOMI-05").json() == answer.json()


def test_a_product_that_is_put_again_is_the_same_one(shop: Sandbox) -> None:
    """SH-1: under its new name, at its new price, with the stock it had."""
    assert put(shop, SKU, {"name": "急須（小）", "unitPrice": 0}).status_code == 200
    page = shop.web.get("/api/product").json()
    assert page["items"] == [{"sku": SKU, "name": "急須（小）", "unitPrice": 0}]
    assert shop.stock() == (100, 100, 0, 0)


def test_a_product_of_which_nothing_came_in_has_no_stock(shop: Sandbox) -> None:
    """SH-5"""
    put(shop, "YUNOMI-05").raise_for_status()
    assert shop.stock("YUNOMI-05") == (0, 0, 0, 0)
    answer = shop.ask_for(("YUNOMI-05", 1))
    assert (answer.status_code, answer.json()["code"]) == (409, "OUT_OF_STOCK")
    assert (answer.json()["wanted"], answer.json()["free"]) == (1, 0)


def test_what_came_in_is_free(shop: Sandbox) -> None:
    """SH-5: beside what is kept for an order."""
    shop.ask_for((SKU, 30)).raise_for_status()
    answer = receive(shop, 20)
    assert answer.json() == {"sku": SKU, "total": 120, "free": 90, "reserved": 30, "shipped": 0}
    assert shop.web.get(f"/api/stock/{SKU}").json() == answer.json()


def test_what_many_receive_at_once_is_all_there(shop: Sandbox) -> None:
    """SH-5: also the first of a product."""
    put(shop, "YUNOMI-05").raise_for_status()
    with ThreadPoolExecutor(RIVALS) as pool:
        answers = list(pool.map(lambda _: receive(shop, 3, "YUNOMI-05"), range(RIVALS)))
    assert {answer.status_code for answer in answers} == {200}
    assert shop.stock("YUNOMI-05") == (3 * RIVALS, 3 * RIVALS, 0, 0)


@pytest.mark.parametrize("path", ["/api/product", "/api/stock"])
def test_lists_are_by_number_in_pages(shop: Sandbox, path: str) -> None:
    """SH-1, SH-5: each once, whatever a database thinks of hyphens."""
    others = ["A-B", "AB", "A1", "A-1", "A--1", "0", "Z-"]
    for sku in others:
        shop.offer(sku, stock=1)
    found: list[str] = []
    page = shop.web.get(path, params={"limit": 3}).json()
    while page["next"] is not None:
        found += [one["sku"] for one in page["items"]]
        page = shop.web.get(path, params={"limit": 3, "after": page["next"]}).json()
    found += [one["sku"] for one in page["items"]]
    assert sorted(found) == sorted([SKU, *others])
    whole = shop.web.get(path).json()
    assert [one["sku"] for one in whole["items"]] == found
    assert whole["next"] is None


@pytest.mark.parametrize(
    ("product", "fields"),
    [
        ({}, {"name", "unitPrice"}),
        ({"name": "", "unitPrice": 1}, {"name"}),
        ({"name": " ", "unitPrice": 1}, {"name"}),
        ({"name": "a" * 201, "unitPrice": 1}, {"name"}),
        ({"name": "a\nb", "unitPrice": 1}, {"name"}),
        ({"name": "a\0b", "unitPrice": 1}, {"name"}),
        ({"name": 7, "unitPrice": 1}, {"name"}),
        ({"name": None, "unitPrice": -1}, {"name", "unitPrice"}),
        ({**PRODUCT, "unitPrice": 1.5}, {"unitPrice"}),
        ({**PRODUCT, "unitPrice": "1"}, {"unitPrice"}),
        ({**PRODUCT, "unitPrice": True}, {"unitPrice"}),
        ({**PRODUCT, "unitPrice": 1_000_000_001}, {"unitPrice"}),
        ({**PRODUCT, "unit_price": 1}, {"unit_price"}),
        ({**PRODUCT, "sku": "A"}, {"sku"}),
    ],
)
def test_a_product_that_cannot_be_one_is_refused(
    small_shop: Sandbox, product: dict[str, Any], fields: set[str]
) -> None:
    """SH-1, SE-4: each wrong field is named, and what was sold before is sold still."""
    before = small_shop.web.get("/api/product").json()
    assert wrong_fields(put(small_shop, SKU, product)) == fields
    assert small_shop.web.get("/api/product").json() == before


@pytest.mark.parametrize("quantity", [0, -1, 1.5, "1", True, None, 1_000_001, 10**30])
def test_a_quantity_that_cannot_have_come_in_is_refused(
    small_shop: Sandbox, quantity: object
) -> None:
    """SH-5, SE-4"""
    assert wrong_fields(receive(small_shop, quantity)) == {"quantity"}
    assert small_shop.stock() == (100, 100, 0, 0)


@pytest.mark.parametrize("sku", ["a", "A" * 41, "-A", "A%0A", "A%00", "..%2FA", "%EF%BC%A1", "A'"])
def test_a_number_that_no_product_can_have_is_refused(small_shop: Sandbox, sku: str) -> None:
    """SE-4"""
    answers = [
        small_shop.web.get(f"/api/product/{sku}"),
        put(small_shop, sku),
        small_shop.web.get(f"/api/stock/{sku}"),
        receive(small_shop, 1, sku),
    ]
    # What holds a slash is the address of nothing.
    assert {answer.status_code for answer in answers} <= {404, 422}
    assert all(answer.json()["code"] in ("INVALID_REQUEST", "NOT_FOUND") for answer in answers)


def test_what_is_not_sold_is_not_found(shop: Sandbox) -> None:
    """SH-1: and cannot come in."""
    answers = [
        shop.web.get("/api/product/CHASEN-09"),
        shop.web.get("/api/stock/CHASEN-09"),
        receive(shop, 1, "CHASEN-09"),
    ]
    for answer in answers:
        assert (answer.status_code, answer.json()["code"]) == (404, "PRODUCT_NOT_FOUND")
        assert answer.json()["sku"] == "CHASEN-09"
    assert [one["sku"] for one in shop.web.get("/api/stock").json()["items"]] == [SKU]


def test_more_than_can_be_counted_is_refused(shop: Sandbox) -> None:
    """SH-5, SE-4: no column runs over, on no database, and the last that fits is taken."""
    most = 2_000_000_000
    with shop.app.session() as session:
        nearly = {"total": most - 1_000_000, "free": most - 1_000_000}
        session.execute(update(stock).where(stock.c.sku == SKU).values(**nearly))
    assert receive(shop, 1_000_000).status_code == 200
    for quantity in (1, 1_000_000):
        answer = receive(shop, quantity)
        assert (answer.status_code, answer.json()["code"]) == (409, "TOO_MUCH_STOCK")
        assert "2,000,000,000" in answer.json()["detail"]
    assert shop.stock() == (most, most, 0, 0)
    assert shop.ask_for((SKU, 10_000)).status_code == 201


def test_one_product_put_by_many_at_once_is_one(shop: Sandbox) -> None:
    """SH-1: at one of their prices."""
    prices = range(RIVALS)
    with ThreadPoolExecutor(RIVALS) as pool:
        offers = [{**PRODUCT, "unitPrice": price} for price in prices]
        answers = list(pool.map(lambda offer: put(shop, "YUNOMI-05", offer), offers))
    assert [answer.status_code for answer in answers] == [200] * RIVALS
    assert [answer.json()["unitPrice"] for answer in answers] == list(prices)
    assert shop.web.get("/api/product/YUNOMI-05").json()["unitPrice"] in prices
