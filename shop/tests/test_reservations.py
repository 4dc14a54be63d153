"""What is kept for an order: from its placing until it is cancelled, or has left."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session
from tests.proof.stocktaking import at_every_commit

from shop.app import wired
from shop.inventory.reservations import commit, release, release_expired
from shop.inventory.reservations import expired as find_expired
from shop.inventory.table import stock_reservations
from shop.mailbox.server import MailServer
from shop.ordering.messages import OrderCancelled, OrderConfirmed, OrderShipped
from shop.testing import SKU, Sandbox, sandbox
from todoke import Todoke
from todoke.testing import Clock

OTHER = "CHAWAN-01"
LATE = 40

Kept = list[tuple[str, str, bool]]


def kept(shop: Sandbox, order_id: int) -> Kept:
    """Of each product in an order: its number, the reservation's type, and whether it lives."""
    rows = stock_reservations
    query = select(rows).where(rows.c.order_id == order_id).order_by(rows.c.sku)
    with shop.app.session() as session:
        found = session.execute(query).all()
    return [(row.sku, row.type.value, row.deleted_at is None) for row in found]


def cart(shop: Sandbox, *wanted: tuple[str, int]) -> int:
    return int(shop.ask_for(*wanted).raise_for_status().json()["id"])


def expire(shop: Sandbox) -> None:
    """Nobody confirmed in time, and the job has noticed."""
    shop.work("35m")
    shop.run("release-reservations")


def ship(shop: Sandbox, order_id: int) -> None:
    """Confirmed, prepared by the nightly job, and gone."""
    shop.confirm(order_id)
    shop.work()
    shop.run("create-shipment")
    shop.web.post(f"/api/order/{order_id}/mark-shipped").raise_for_status()
    shop.work()


def tell_again(shop: Sandbox, order_id: int, event: type, **more: object) -> None:
    """The same event of the same order, once more."""
    number = shop.order(order_id)["orderNumber"]
    told = {"order_id": order_id, "order_number": number, "customer_email": None, **more}
    with shop.app.session() as session:
        shop.app.publish(session, event(**told))
    shop.work()


def released(shop: Sandbox) -> int:
    """How many reservations the job has freed, by its own account."""
    return sum(run.processed or 0 for run in shop.runs("release-reservations"))


# --- an order's way --------------------------------------------------------------------------


def test_an_order_keeps_its_stock_while_it_waits(shop: Sandbox) -> None:
    """SH-5: for half an hour, and as long as the job has not looked."""
    order_id = cart(shop, (SKU, 3))
    assert kept(shop, order_id) == [(SKU, "TENTATIVE", True)]
    with shop.app.session() as session:
        expires_at = session.execute(select(stock_reservations.c.expires_at)).scalar_one()
    assert expires_at == shop.clock.now() + timedelta(minutes=30)
    shop.clock.advance("29m")
    shop.run("release-reservations")
    assert shop.stock() == (100, 97, 3, 0)


def test_how_long_it_is_kept_is_a_setting(
    sqlite_copy: str, mail_server: MailServer, clock: Clock
) -> None:
    """SH-5"""
    told = {"inventory.reserve_minutes": 5}
    with sandbox(sqlite_copy, mail_server, clock, told=told) as shop:
        shop.place()
        clock.advance("6m")
        shop.run("release-reservations")
        assert shop.stock() == (100, 100, 0, 0)


def test_a_confirmed_order_keeps_its_stock_for_good(shop: Sandbox) -> None:
    """SH-5, SH-6"""
    order_id = shop.place_and_confirm()
    shop.work()
    expire(shop)
    assert kept(shop, order_id) == [(SKU, "COMMITTED", True)]
    assert shop.stock() == (100, 99, 1, 0)


def test_a_shipped_order_has_left_the_stock(shop: Sandbox) -> None:
    """SH-5: it is counted for ever, and never freed."""
    order_id = cart(shop, (SKU, 3))
    ship(shop, order_id)
    expire(shop)
    assert kept(shop, order_id) == [(SKU, "SHIPPED", True)]
    assert shop.stock() == (100, 97, 0, 3)


def test_an_order_confirmed_too_late_takes_its_stock_anew(shop: Sandbox) -> None:
    """SH-5: if there is enough."""
    order_id = cart(shop, (SKU, 3))
    expire(shop)
    assert shop.stock() == (100, 100, 0, 0)
    shop.confirm(order_id)
    shop.work()
    assert kept(shop, order_id) == [(SKU, "COMMITTED", True)]
    assert shop.stock() == (100, 97, 3, 0)


# --- too late --------------------------------------------------------------------------------


def short_order(shop: Sandbox) -> int:
    """Confirmed when one of its two products was sold out."""
    shop.offer(OTHER, stock=5)
    order_id = cart(shop, (SKU, 2), (OTHER, 2))
    expire(shop)
    cart(shop, (SKU, 99))
    shop.confirm(order_id)
    shop.work()
    return order_id


def redrive(shop: Sandbox) -> None:
    with shop.app.session() as session:
        short = shop.app.dead_letters.where(code="OUT_OF_STOCK")
        shop.app.dead_letters.redrive(session, short, by="mika", reason="stock came in")
    shop.work()


def resolve(shop: Sandbox) -> None:
    with shop.app.session() as session:
        short = shop.app.dead_letters.where(code="OUT_OF_STOCK")
        shop.app.dead_letters.resolve(session, short, by="mika", reason="it was cancelled")
    shop.work()


def test_an_order_that_is_too_late_takes_all_or_nothing(shop: Sandbox) -> None:
    """SH-5: and a dead letter tells what is missing, and what to do."""
    order_id = short_order(shop)
    (letter,) = shop.dead_letters()
    assert (letter.name, letter.code) == ("keep-stock", "OUT_OF_STOCK")
    assert f"2 of {SKU} are wanted and 1 are free" in letter.message
    assert kept(shop, order_id) == [(OTHER, "TENTATIVE", False), (SKU, "TENTATIVE", False)]
    assert (shop.stock(), shop.stock(OTHER)) == ((100, 1, 99, 0), (5, 5, 0, 0))


def test_it_takes_all_once_stock_has_come_in(shop: Sandbox) -> None:
    """SH-5, ER-4: its dead letter is redriven; too early that changes nothing."""
    order_id = short_order(shop)
    redrive(shop)
    assert (shop.stock(), shop.stock(OTHER)) == ((100, 1, 99, 0), (5, 5, 0, 0))
    shop.offer(stock=1)
    redrive(shop)
    assert shop.dead_letters() == []
    assert kept(shop, order_id) == [(OTHER, "COMMITTED", True), (SKU, "COMMITTED", True)]
    assert (shop.stock(), shop.stock(OTHER)) == ((101, 0, 101, 0), (5, 3, 2, 0))


@pytest.mark.parametrize("decide", [redrive, resolve])
def test_it_keeps_nothing_once_it_is_cancelled(
    shop: Sandbox, decide: Callable[[Sandbox], None]
) -> None:
    """SH-5: the cancellation waits behind the dead letter, whatever becomes of that."""
    order_id = short_order(shop)
    assert shop.cancel(order_id).status_code == 200
    shop.work()
    shop.offer(stock=1)
    decide(shop)
    assert shop.dead_letters() == []
    assert shop.statuses("ORDER_CANCELLED", "keep-stock") == ["PROCESSED"]
    assert kept(shop, order_id) == [(OTHER, "CANCELLED", False), (SKU, "CANCELLED", False)]
    assert (shop.stock(), shop.stock(OTHER)) == ((101, 2, 99, 0), (5, 5, 0, 0))


def test_a_cancelled_order_never_takes_stock_again(
    migrated_url: str, mail_server: MailServer, clock: Clock
) -> None:
    """SH-5: its confirmation comes after its cancellation, which did not wait."""
    told = {"handlers.keep-stock.followers": "skip"}
    with sandbox(migrated_url, mail_server, clock, told=told) as shop:
        order_id = short_order(shop)
        shop.cancel(order_id).raise_for_status()
        shop.work()
        shop.offer(stock=1)
        redrive(shop)
        assert shop.dead_letters() == []
        assert kept(shop, order_id) == [(OTHER, "CANCELLED", False), (SKU, "CANCELLED", False)]
        assert (shop.stock(), shop.stock(OTHER)) == ((101, 2, 99, 0), (5, 5, 0, 0))


# --- cancelled -------------------------------------------------------------------------------


def confirmed(shop: Sandbox, order_id: int) -> None:
    shop.confirm(order_id)
    shop.work()


def confirmed_and_not_told(shop: Sandbox, order_id: int) -> None:
    shop.confirm(order_id)


def expired(shop: Sandbox, order_id: int) -> None:
    expire(shop)


def taken_anew(shop: Sandbox, order_id: int) -> None:
    expire(shop)
    confirmed(shop, order_id)


def as_it_is(shop: Sandbox, order_id: int) -> None: ...


@pytest.mark.parametrize(
    "before",
    [as_it_is, confirmed, confirmed_and_not_told, expired, taken_anew],
    ids=lambda before: before.__name__,
)
def test_what_a_cancelled_order_kept_is_free_once(
    shop: Sandbox, before: Callable[[Sandbox, int], None]
) -> None:
    """SH-5: cancelled at any time; what others keep stays theirs, and time changes nothing."""
    shop.offer(OTHER, stock=5)
    order_id, others = cart(shop, (OTHER, 2), (SKU, 3)), cart(shop, (SKU, 4), (OTHER, 1))
    confirmed(shop, others)
    before(shop, order_id)
    shop.cancel(order_id).raise_for_status()
    shop.work()
    assert (shop.stock(), shop.stock(OTHER)) == ((100, 96, 4, 0), (5, 4, 1, 0))
    expire(shop)
    assert kept(shop, order_id) == [(OTHER, "CANCELLED", False), (SKU, "CANCELLED", False)]
    assert (shop.stock(), shop.stock(OTHER)) == ((100, 96, 4, 0), (5, 4, 1, 0))


# --- told twice ------------------------------------------------------------------------------


def test_a_confirmation_told_twice_changes_nothing(shop: Sandbox) -> None:
    """SH-5: neither while the stock is kept, nor when it is not any more."""
    order_id = cart(shop, (SKU, 3))
    confirmed(shop, order_id)
    tell_again(shop, order_id, OrderConfirmed, total_price="1")
    assert shop.stock() == (100, 97, 3, 0)
    shop.cancel(order_id).raise_for_status()
    shop.work()
    tell_again(shop, order_id, OrderConfirmed, total_price="1")
    assert shop.stock() == (100, 100, 0, 0)
    assert shop.dead_letters() == []


def test_a_cancellation_told_twice_changes_nothing(shop: Sandbox) -> None:
    """SH-5: others have taken what was given back."""
    order_id = cart(shop, (SKU, 3))
    shop.cancel(order_id).raise_for_status()
    shop.work()
    cart(shop, (SKU, 100))
    tell_again(shop, order_id, OrderCancelled, reason="USER_CANCEL")
    assert shop.stock() == (100, 0, 100, 0)
    assert shop.dead_letters() == []


def test_a_departure_told_twice_changes_nothing(shop: Sandbox) -> None:
    """SH-5: what others keep has not left."""
    order_id, others = cart(shop, (SKU, 3)), cart(shop, (SKU, 5))
    confirmed(shop, others)
    ship(shop, order_id)
    tell_again(shop, order_id, OrderShipped)
    assert shop.stock() == (100, 92, 5, 3)
    assert shop.dead_letters() == []


def test_a_departure_of_what_was_not_kept_is_not_passed_over(shop: Sandbox) -> None:
    """SH-5: the books would be wrong, so somebody is told."""
    order_id = cart(shop, (SKU, 3))
    tell_again(shop, order_id, OrderShipped)
    (letter,) = shop.dead_letters()
    assert (letter.name, letter.code) == ("keep-stock", "NOT_RESERVED")
    assert str(order_id) in letter.message
    assert shop.stock() == (100, 97, 3, 0)


def test_a_confirmation_of_what_was_never_kept_is_not_passed_over(small_shop: Sandbox) -> None:
    """SH-5: such as that of an order from before there was stock."""
    order_id = small_shop.place()
    with small_shop.app.session() as session:
        session.execute(stock_reservations.delete())
    small_shop.confirm(order_id)
    small_shop.work()
    assert [letter.code for letter in small_shop.dead_letters()] == ["NOT_RESERVED"]


# --- the job ---------------------------------------------------------------------------------


def test_releasing_twice_frees_once_and_counts_once(shop: Sandbox) -> None:
    """SH-6: idempotent; each run records its own count."""
    cart(shop, (SKU, 3))
    cart(shop, (SKU, 4))
    shop.clock.advance("29m")
    young = cart(shop, (SKU, 5))
    before = len(shop.runs("release-reservations"))
    shop.clock.advance("2m")
    with shop.app.session() as session:
        shop.app.jobs.run(session, "release-reservations", by="test", reason="by hand")
        shop.app.jobs.run(session, "release-reservations", by="test", reason="and again")
    shop.work()
    runs = shop.runs("release-reservations")[before:]
    assert sorted(run.processed or 0 for run in runs)[-2:] == [0, 2]
    assert {run.status for run in runs} == {"SUCCEEDED"}
    assert shop.stock() == (100, 95, 5, 0)
    assert kept(shop, young) == [(SKU, "TENTATIVE", True)]


def test_an_order_confirmed_while_it_is_released_has_its_stock(shop: Sandbox) -> None:
    """SH-5, SH-6: it keeps it or takes it anew, and neither of them fails for the other."""
    shop.offer(OTHER, stock=LATE)
    carts = [[(SKU, 1), (OTHER, 1)], [(OTHER, 1), (SKU, 1)]]
    order_ids = [cart(shop, *carts[number % 2]) for number in range(LATE)]
    shop.clock.advance("35m")
    for order_id in order_ids:
        shop.confirm(order_id)
    with shop.app.session() as session:
        for _ in range(3):
            shop.app.jobs.run(session, "release-reservations", by="test", reason="at once")
    others = [wired(Todoke(settings=shop.app.settings, clock=shop.clock)) for _ in range(3)]
    witness, start = at_every_commit(shop.app, *others), threading.Barrier(len(others))

    def work(app: Todoke) -> None:
        with closing(app):
            start.wait(60)
            app.drain()

    with ThreadPoolExecutor(len(others)) as pool:
        list(pool.map(work, others))
    shop.work("1m")
    assert {run.status for run in shop.runs("release-reservations")} == {"SUCCEEDED"}
    assert shop.dead_letters() == []
    assert [shop.stock(), shop.stock(OTHER)] == [(100, 100 - LATE, LATE, 0), (LATE, 0, LATE, 0)]
    assert {tuple(kept(shop, order_id)) for order_id in order_ids} == {
        ((OTHER, "COMMITTED", True), (SKU, "COMMITTED", True))
    }
    assert witness.wrong == []
    assert witness.counts >= LATE


def test_orders_and_the_job_never_lock_each_other_out(shop: Sandbox) -> None:
    """SH-5, SH-6: the verbs themselves, without anybody who would try again after a deadlock."""
    shop.offer(OTHER, stock=LATE)
    placed: dict[int, datetime] = {}
    for _ in range(LATE // 2):
        for wanted in ([(SKU, 1), (OTHER, 1)], [(OTHER, 1), (SKU, 1)]):
            shop.clock.advance("1m")
            placed[cart(shop, *wanted)] = shop.clock.now()
    start, failures = threading.Barrier(3), list[DBAPIError]()

    def keep(session: Session, order_id: int, _now: datetime) -> None:
        commit(session, order_id)

    def let_expire(session: Session, _order_id: int, now: datetime) -> None:
        release_expired(session, find_expired(session, None, 500, now), now)

    def of_each(verb: Callable[[Session, int, datetime], None]) -> None:
        for order_id, at in placed.items():
            start.wait(60)
            try:
                with shop.app.session() as session:
                    verb(session, order_id, at + timedelta(minutes=30))
            except DBAPIError as error:
                failures.append(error)

    witness = at_every_commit(shop.app)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(of_each, [keep, release, let_expire]))
    assert failures == []
    assert [shop.stock(), shop.stock(OTHER)] == [(100, 100, 0, 0), (LATE, LATE, 0, 0)]
    assert witness.wrong == []
    assert witness.counts >= LATE
