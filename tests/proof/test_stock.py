"""Stock under a storm: never oversold, nothing lost, nothing counted twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import pytest
from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from shop.inventory import reservations, stock
from shop.inventory.model import ReservationType
from shop.inventory.table import stock_reservations
from shop.mailbox.server import MailServer
from shop.ordering.table import order_lines, orders
from shop.testing import Sandbox, sandbox
from tests.counts import Counts
from tests.proof.marketplace import A_ROUND, SKUS, Marketplace, marketplace
from todoke.testing import Clock

Record = Callable[[str, object], None]
Plant = Callable[[pytest.MonkeyPatch], None]
IMPATIENT = {"inventory.reserve_minutes": 6}
PATIENCE = 1_200
"""So many operations at most until a planted bug shows."""
# An order's status, and what its reservations must be once everything was heard of.
LIVING = {
    "CONFIRMED": ReservationType.COMMITTED,
    "PREPARING_SHIPMENT": ReservationType.COMMITTED,
    "SHIPPED": ReservationType.SHIPPED,
}
DELETED = {"PENDING": ReservationType.TENTATIVE, "CANCELLED": ReservationType.CANCELLED}


@pytest.fixture
def shop(migrated_url: str, mail_server: MailServer) -> Iterator[Sandbox]:
    with sandbox(migrated_url, mail_server, Clock(), told=IMPATIENT) as found:
        yield found


def test_stock_adds_up_whoever_orders_confirms_cancels_receives_and_ships_at_once(
    shop: Sandbox, counts: Counts, record_property: Record
) -> None:
    """SH-5, SH-6: at every commit and between; nobody is answered that the shop failed."""
    with marketplace(shop) as market:
        market.storm(counts.stock_operations)
        late = len(shop.dead_letters())
        market.calm()
    answers, freed = market.answers, freed_by_the_job(shop)
    record_property("operations", answers.total())
    record_property("orders", answers["place", 201])
    record_property("refusals", answers["place", 409])
    record_property("cancelled", answers["cancel", 200])
    record_property("shipped", answers["mark_shipped", 200])
    record_property("reservations released by the job", freed)
    record_property("confirmed too late at the end", late)
    record_property("counted at commits", market.commits.counts)
    record_property("counted from outside", market.looks)
    record_property("claims that lost a deadlock", market.lost_claims)
    assert market.failures == []
    assert market.wrong == []
    assert shop.dead_letters() == []
    assert differences(shop, market) == []
    assert answers.total() >= counts.stock_operations
    assert min(market.commits.counts, market.looks) > counts.stock_operations // 4
    assert min(answers["place", 201], answers["place", 409], answers["cancel", 200], freed) > 0
    assert answers["mark_shipped", 200] > 0


def freed_by_the_job(shop: Sandbox) -> int:
    with shop.app.session() as session:
        runs = shop.app.jobs.runs(session, "release-reservations", limit=1_000_000)
    assert {run.status for run in runs} == {"SUCCEEDED"}
    return sum(run.processed or 0 for run in runs)


def differences(shop: Sandbox, market: Marketplace) -> list[str]:
    """What stock and reservations say otherwise than receipts and orders do."""
    found = [line for order in lines_of_orders(shop) for line in _wrong_line(order)]
    sold = sold_by_status(shop)
    for sku in SKUS:
        kept, gone = sold["CONFIRMED", sku] + sold["PREPARING_SHIPMENT", sku], sold["SHIPPED", sku]
        total = market.received[sku]
        expected = (total, total - kept - gone, kept, gone)
        if shop.stock(sku) != expected:
            found.append(f"{sku} is {shop.stock(sku)} instead of {expected}")
    return found


def lines_of_orders(shop: Sandbox) -> Sequence[Row[tuple[object, ...]]]:
    """Each line of each order, with what is kept for it."""
    line, kept = order_lines.c, stock_reservations.c
    same = (kept.order_id == line.order_id) & (kept.sku == line.sku)
    query = (
        select(orders.c.id, orders.c.status, line.sku, line.quantity, kept.type, kept.deleted_at)
        .add_columns(kept.quantity.label("kept"))
        .select_from(orders.join(order_lines).outerjoin(stock_reservations, same))
    )
    with shop.app.session() as session:
        return session.execute(query).all()


def _wrong_line(line: Row[tuple[object, ...]]) -> list[str]:
    lives = line.deleted_at is None
    expected = (LIVING if lives else DELETED).get(line.status)
    if line.type is expected is not None and line.kept == line.quantity:
        return []
    return [f"order {line.id} is {line.status}, {line.sku} {line.type}, living: {lives}"]


def sold_by_status(shop: Sandbox) -> Counter[tuple[str, str]]:
    sold: Counter[tuple[str, str]] = Counter()
    for line in lines_of_orders(shop):
        sold[str(line.status), line.sku] += line.quantity
    return sold


# --- planted bugs ----------------------------------------------------------------------------


def release_what_has_expired(patch: pytest.MonkeyPatch) -> None:
    """A cancelled order gives back what was given back when it expired."""

    def release(session: Session, order_id: int, at: datetime) -> None:
        found = reservations._of_order(session, order_id)
        stock.release_stock(session, reservations._sums(found))
        reservations._write(session, found, {"deleted_at": at})

    patch.setattr("shop.inventory.handlers.release", release)


def forget_to_give_back(patch: pytest.MonkeyPatch) -> None:
    """A reservation is deleted and its stock stays reserved."""
    patch.setattr(reservations, "release_stock", lambda *_told: None)


def keep_what_has_expired(patch: pytest.MonkeyPatch) -> None:
    """A late confirmation takes no stock anew."""

    def commit(session: Session, order_id: int) -> None:
        found = reservations._of_order(session, order_id)
        kept = {"type": ReservationType.COMMITTED, "deleted_at": None}
        reservations._write(session, found, kept)

    patch.setattr("shop.inventory.handlers.commit", commit)


def ask_before_taking(patch: pytest.MonkeyPatch) -> None:
    """Whether there is enough is read first; what is taken is not looked at again."""
    change = stock._change
    patch.setattr(
        stock, "_change", lambda session, sku, values, at_least=0: change(session, sku, values)
    )


@pytest.mark.parametrize(
    "plant",
    [release_what_has_expired, forget_to_give_back, keep_what_has_expired, ask_before_taking],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_of_stock_is_caught(
    plant: Plant, sqlite_copy: str, mail_server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storm would notice."""
    plant(monkeypatch)
    with (
        sandbox(sqlite_copy, mail_server, Clock(), told=IMPATIENT) as shop,
        marketplace(shop) as market,
    ):
        while not market.wrong and not market.failures and market.answers.total() < PATIENCE:
            market.storm(market.answers.total() + A_ROUND)
        assert market.wrong or market.failures, plant.__doc__
