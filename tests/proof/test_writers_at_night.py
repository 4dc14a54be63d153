"""Others write while a night with very many orders is worked through."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import monotonic

from shop.database import migrate
from shop.inventory.stock import find_stock, receive_stock
from tests.counts import Counts
from tests.proof.order_book import OrderBook, fill_shelves
from tests.proof.watched_night import shop_at, watched_night
from todoke import Todoke

QUICK: dict[str, object] = {"outbox.poll": "100ms"}
ARRIVING = "ARRIVES-AT-NIGHT"


def test_goods_are_received_while_the_night_is_worked_through(
    migrated_url: str,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """SH-7, JB-10: one after the other, without a pause; none is refused, however long it waits."""
    with closing(shop_at(migrated_url, tmp_path, QUICK)) as app:
        migrate(app.engine)
        book = OrderBook(counts.confirmed_orders)
        fill_shelves(app.engine, book)
        book.write(app.engine)
        _receive(app)
        waits = [0.0]
        with watched_night(app, migrated_url, tmp_path, QUICK) as night:
            night.start()
            night.enqueue("create-shipment")
            while not night.succeeded("sftp-put"):
                waits.append(_receive(app))
            night.band.stop()
        with app.session() as session:
            assert find_stock(session, ARRIVING).total == len(waits)
    record_property("orders", book.ready)
    record_property("receipts meanwhile", len(waits) - 1)
    record_property("the longest took", f"{max(waits):.2f} s")
    assert len(waits) > 2


def _receive(app: Todoke) -> float:
    """How long it took."""
    began = monotonic()
    with app.session() as session:
        receive_stock(session, ARRIVING, 1)
    return monotonic() - began
