"""How much there is: received, kept, given back, sent; never more than came in."""

import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import update
from sqlalchemy.exc import IntegrityError, OperationalError

from shop.inventory.model import StockNotFound
from shop.inventory.stock import find_stock, release_stock, reserve_stock, ship_stock
from shop.inventory.table import stock
from shop.testing import SKU, Sandbox

FIRSTS, RIVALS = 10, 8
# To MariaDB's driver a broken constraint is one of these, to the others one of those.
REFUSALS = (IntegrityError, OperationalError)


def receive(shop: Sandbox, sku: str, quantity: int) -> httpx.Response:
    return shop.web.post(f"/api/stock/{sku}/receive", json={"quantity": quantity})


def test_what_comes_in_is_free(shop: Sandbox) -> None:
    """SH-5: and comes to what is there."""
    shop.offer("CHAWAN-01", stock=0)
    assert shop.stock("CHAWAN-01") == (0, 0, 0, 0)
    assert receive(shop, "CHAWAN-01", 3).json()["free"] == 3
    assert receive(shop, "CHAWAN-01", 4).json() == {
        "sku": "CHAWAN-01",
        "total": 7,
        "free": 7,
        "reserved": 0,
        "shipped": 0,
    }


def test_first_receipts_of_a_product_at_once_add_up(shop: Sandbox) -> None:
    """SH-5: nobody is refused because somebody else was the first."""
    skus = [f"CHAWAN-{number:02}" for number in range(FIRSTS)]
    for sku in skus:
        shop.offer(sku, stock=0)
    start = threading.Barrier(RIVALS)

    def receive_all(quantity: int) -> list[int]:
        found = []
        for sku in skus:
            start.wait(60)
            found.append(receive(shop, sku, quantity).status_code)
        return found

    with ThreadPoolExecutor(RIVALS) as pool:
        statuses = list(pool.map(receive_all, range(1, RIVALS + 1)))
    assert statuses == [[200] * FIRSTS] * RIVALS
    total = sum(range(1, RIVALS + 1))
    assert [shop.stock(sku) for sku in skus] == [(total, total, 0, 0)] * FIRSTS


def test_what_is_kept_can_be_given_back_or_sent(shop: Sandbox) -> None:
    """SH-5"""
    with shop.app.session() as session:
        reserve_stock(session, {SKU: 10})
    assert shop.stock() == (100, 90, 10, 0)
    with shop.app.session() as session:
        release_stock(session, {SKU: 3})
        ship_stock(session, {SKU: 5})
    assert shop.stock() == (100, 93, 2, 5)


@pytest.mark.parametrize("change", [release_stock, ship_stock])
def test_more_than_is_kept_is_neither_given_back_nor_sent(shop: Sandbox, change: object) -> None:
    """SH-5: the table refuses it, and the transaction changes nothing."""
    assert callable(change)
    with shop.app.session() as session:
        reserve_stock(session, {SKU: 2})
    with pytest.raises(REFUSALS), shop.app.session() as session:
        change(session, {SKU: 3})
    assert shop.stock() == (100, 98, 2, 0)


@pytest.mark.parametrize("change", [release_stock, ship_stock])
def test_stock_that_nobody_knows_is_neither_given_back_nor_sent(
    shop: Sandbox, change: object
) -> None:
    """SH-5: what cannot be written down is not passed over in silence."""
    assert callable(change)
    with (
        pytest.raises(StockNotFound, match="nothing of LOST-01 ever came in"),
        shop.app.session() as session,
    ):
        change(session, {SKU: 0, "LOST-01": 1})
    assert shop.stock() == (100, 100, 0, 0)


@pytest.mark.parametrize("name", ["total", "free", "reserved", "shipped"])
def test_the_table_refuses_stock_that_does_not_add_up(shop: Sandbox, name: str) -> None:
    """SH-5: whoever writes it, with whatever statement."""
    with pytest.raises(REFUSALS), shop.app.session() as session:
        session.execute(update(stock).values({name: stock.c[name] + 1}))
    assert shop.stock() == (100, 100, 0, 0)


def test_what_never_came_in_is_not_there(small_shop: Sandbox) -> None:
    """SH-5: and nobody can order it."""
    small_shop.offer("LOST-01", stock=0)
    with small_shop.app.session() as session:
        assert find_stock(session, "LOST-01").total == 0
    refused = small_shop.ask_for(("LOST-01", 1))
    assert (refused.status_code, refused.json()["free"]) == (409, 0)
