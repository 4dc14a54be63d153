"""Fifty buyers reach for the last item at the same moment; one of them gets it."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import func, select
from tests.proof.stocktaking import at_every_commit, from_outside

from shop.inventory.table import stock_reservations
from shop.ordering.table import orders
from shop.testing import Sandbox

BUYERS = 50
LOOKS = 10
LAST = "LAST-01"
PLENTY = ("BEFORE-01", "ZEN-01")

Wanted = Sequence[tuple[str, int]]


def rush(shop: Sandbox, *carts: Wanted) -> list[httpx.Response]:
    """Fifty buyers at once, whose carts are these in turn; counted at every commit and between."""
    shop.web.timeout = httpx.Timeout(60)
    start = threading.Barrier(BUYERS)

    def buy(number: int) -> httpx.Response:
        start.wait(60)
        return shop.ask_for(*carts[number % len(carts)])

    url = shop.app.url.render_as_string(hide_password=False)
    witness = at_every_commit(shop.app)
    with from_outside(url) as watch:
        with ThreadPoolExecutor(BUYERS) as pool:
            answers = list(pool.map(buy, range(BUYERS)))
        assert watch.counts >= LOOKS
    assert watch.wrong == witness.wrong == []
    assert witness.counts == sum(answer.is_success for answer in answers)
    return answers


def one_order(answers: list[httpx.Response]) -> list[dict[str, object]]:
    """One buyer has ordered; answers what the others were told."""
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] + [409] * (BUYERS - 1)
    return [answer.json() for answer in answers if answer.status_code == 409]


def rows(shop: Sandbox) -> tuple[int, int]:
    """How many orders there are, and reservations."""
    with shop.app.session() as session:
        counted = [select(func.count()).select_from(one) for one in (orders, stock_reservations)]
        return session.execute(counted[0]).scalar_one(), session.execute(counted[1]).scalar_one()


def test_of_fifty_buyers_one_gets_the_last_item(shop: Sandbox) -> None:
    """SH-5: one order and 49 clear refusals; stock adds up at every commit."""
    shop.offer(LAST, stock=1)
    refused = one_order(rush(shop, [(LAST, 1)]))
    assert {problem["code"] for problem in refused} == {"OUT_OF_STOCK"}
    assert {problem["detail"] for problem in refused} == {"1 of LAST-01 are wanted and 0 are free."}
    assert {(one["sku"], one["wanted"], one["free"]) for one in refused} == {(LAST, 1, 0)}
    assert shop.stock(LAST) == (1, 0, 1, 0)
    assert rows(shop) == (1, 1)


def test_who_gets_no_last_item_keeps_nothing_else(shop: Sandbox) -> None:
    """SH-5: of an order one of whose products is short, nothing is kept."""
    before, behind = PLENTY
    shop.offer(LAST, stock=1)
    shop.offer(before, stock=100)
    shop.offer(behind, stock=100)
    refused = one_order(rush(shop, [(behind, 2), (LAST, 1), (before, 1)]))
    assert {(one["code"], one["sku"]) for one in refused} == {("OUT_OF_STOCK", LAST)}
    assert shop.stock(LAST) == (1, 0, 1, 0)
    assert shop.stock(before) == (100, 99, 1, 0)
    assert shop.stock(behind) == (100, 98, 2, 0)
    assert rows(shop) == (1, 3)


def test_of_three_left_two_are_sold_and_one_stays(shop: Sandbox) -> None:
    """SH-5: everybody wants two; one is left, and said to be."""
    shop.offer(LAST, stock=3)
    refused = one_order(rush(shop, [(LAST, 2)]))
    assert {problem["detail"] for problem in refused} == {"2 of LAST-01 are wanted and 1 are free."}
    assert shop.stock(LAST) == (3, 1, 2, 0)
    assert rows(shop) == (1, 1)


@pytest.mark.parametrize("left", [1, 10])
def test_no_buyer_fails_whatever_the_order_in_which_products_are_named(
    shop: Sandbox, left: int
) -> None:
    """SH-5: each buyer names the same two products, half of them the other way round."""
    one, other = PLENTY
    shop.offer(one, stock=left)
    shop.offer(other, stock=left)
    answers = rush(shop, [(one, 1), (other, 1)], [(other, 1), (one, 1)])
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [201] * left + [409] * (BUYERS - left)
    assert shop.stock(one) == shop.stock(other) == (left, 0, left, 0)
    assert rows(shop) == (left, 2 * left)
