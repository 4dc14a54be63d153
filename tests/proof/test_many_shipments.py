"""A night with very many orders: short transactions, flat memory, progress, nobody forgotten."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import pytest
from sqlalchemy import Connection, Select, func, select, update
from sqlalchemy.orm import Session

from shop.database import migrate
from shop.fulfilment import orders_to_ship
from shop.inventory.model import ReservationType
from shop.inventory.table import stock_reservations
from shop.ordering.model import OrderStatus
from shop.ordering.table import orders
from shop.shipping.create_shipment import AT_ONCE, ship
from shop.shipping.files import allotted_files, exported_files, ready_shipments
from shop.shipping.table import shipment_items, shipments
from tests.counts import Counts
from tests.proof.cost import cost
from tests.proof.order_book import Kind, OrderBook, fill_shelves
from tests.proof.test_flat_claims import settle_down
from tests.proof.watched_night import (
    JOBS,
    PATIENCE,
    WatchedNight,
    forget_peak_memory,
    peak_memory,
    shop_at,
    watched_night,
)
from tests.waiting import until
from todoke import Todoke
from todoke.database import reading

Record = Callable[[str, object], None]

SECOND = 1.0
MEGABYTE = 1024 * 1024
MORE_MEMORY = 20 * MEGABYTE
CALLS = 13
"""Of a chunk, whatever its size: one counts, four are about the cursor, eight about the orders."""
LEVEL = 1.25
"""An index of many rows may be a level deeper."""
QUICK: dict[str, object] = {"outbox.poll": "100ms"}
SHORT_LEASE: dict[str, object] = {**QUICK, "lease.duration": "3s", "lease.renew": "1s"}


@pytest.fixture
def app(migrated_url: str, tmp_path: Path) -> Iterator[Todoke]:
    with closing(shop_at(migrated_url, tmp_path, QUICK)) as app:
        migrate(app.engine)
        yield app


class Spent(NamedTuple):
    """What one job of a night cost its worker."""

    memory: int
    transactions: int
    longest: float
    calls: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.seconds:.1f} s, {self.transactions} transactions, the longest"
            f" {self.longest:.3f} s and {self.calls} calls, {self.memory / MEGABYTE:.0f} MB"
        )


@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_very_many_orders_take_short_transactions_and_no_more_memory(
    app: Todoke, migrated_url: str, tmp_path: Path, counts: Counts, record_property: Record
) -> None:
    """SH-7, SH-8, JB-10: a worker by itself, for a tenth of the orders and then for all of them."""
    few = OrderBook(counts.confirmed_orders // 10)
    many = OrderBook(counts.confirmed_orders, first=few.next)
    fill_shelves(app.engine, few, many)
    nights = []
    for number, book in enumerate((few, many), start=1):
        book.write(app.engine)
        with watched_night(app, migrated_url, tmp_path, QUICK) as night:
            nights.append(_work_through(night, number))
            night.band.stop()
    for job in JOBS:
        record_property(f"{job} of {few.ready}", str(nights[0][job]))
        record_property(f"{job} of {many.ready}", str(nights[1][job]))
    for job in JOBS:
        assert nights[1][job].memory < nights[0][job].memory + MORE_MEMORY
    assert nights[1]["create-shipment"].longest < SECOND
    assert nights[1]["create-shipment"].calls <= CALLS
    _assert_shipped(app, tmp_path, few, many)


def _work_through(night: WatchedNight, number: int) -> dict[str, Spent]:
    """The three jobs, each of them waited for before the next may begin."""
    first, *others = JOBS
    night.pause(*others)
    night.start()
    pid, spent = night.pid, {}
    for job in JOBS:
        forget_peak_memory(pid)
        began = monotonic()
        if job == first:
            night.enqueue(job)
        else:
            night.resume(job)
        until(partial(night.succeeded, job, number), PATIENCE)
        told = night.transactions(since=began)
        longest = max(one.seconds for one in told)
        calls = max(one.calls for one in told)
        memory, seconds = peak_memory(pid), monotonic() - began
        spent[job] = Spent(memory, len(told), longest, calls, seconds)
    return spent


def test_others_see_how_far_it_has_come(
    app: Todoke, migrated_url: str, tmp_path: Path, counts: Counts, record_property: Record
) -> None:
    """JB-10: processed and total, on another connection and in another process than the worker's.

    The worker waits between two chunks until it was seen there; then it is only looked at.
    """
    book = OrderBook(counts.confirmed_orders)
    book.write(app.engine)
    seen: list[tuple[int | None, int | None]] = []

    def see(night: WatchedNight) -> str:
        for run in night.runs("create-shipment")[-1:]:
            if not seen or seen[-1] != (run.processed, run.total):
                seen.append((run.processed, run.total))
            return run.status
        return "WAITING"

    with watched_night(app, migrated_url, tmp_path, QUICK) as night:
        night.hold_at(2)
        night.start()
        night.enqueue("create-shipment")
        until(lambda: see(night) and seen and seen[-1][0] == AT_ONCE, PATIENCE)
        night.hold_at(5)
        until(lambda: see(night) and seen[-1][0] == 4 * AT_ONCE, PATIENCE)
        night.let_go()
        until(lambda: see(night) == "SUCCEEDED", PATIENCE)
        until(partial(night.succeeded, "sftp-put"), PATIENCE)
        night.band.stop()
    steps = [processed or 0 for processed, _ in seen]
    record_property("times that others saw it further on", len(steps))
    record_property("processed, as they saw it", f"{', '.join(map(str, steps[:4]))} … {steps[-1]}")
    assert steps == sorted(set(steps))
    assert {total for _, total in seen} == {book.confirmed}
    assert steps[-1] == book.confirmed


def test_who_is_killed_in_the_middle_is_followed_by_one_who_goes_on_behind_the_last_chunk(
    app: Todoke, migrated_url: str, tmp_path: Path, counts: Counts, record_property: Record
) -> None:
    """SH-7, JB-10: before a commit, behind one, and from outside; no order twice, none left."""
    book = OrderBook(counts.confirmed_orders)
    book.write(app.engine)
    after_chunks = [_ready_among(book, AT_ONCE * number) for number in range(_chunks(book) + 1)]
    with watched_night(app, migrated_url, tmp_path, SHORT_LEASE) as night:
        night.enqueue("create-shipment")
        night.start("chunk.before_commit:3")
        until(lambda: not night.band.alive, PATIENCE)
        assert _made(app) == after_chunks[2]
        night.start("chunk.after_commit:3")
        until(lambda: not night.band.alive, PATIENCE)
        assert _made(app) == after_chunks[5]
        night.hold_at(5)
        night.start()
        until(lambda: _made(app) > after_chunks[6], PATIENCE)
        night.band.kill(night.pid)
        night.let_go()
        night.start()
        until(partial(night.succeeded, "sftp-put"), PATIENCE)
        kills = night.band.kills
        night.band.stop()
    last = night.runs("create-shipment")[-1]
    found_done = book.ready - round(last.metrics["shipments"])
    record_property("orders", book.ready)
    record_property("kills", kills)
    record_property("shipments that the last worker found done", found_done)
    assert kills == 3
    assert found_done in after_chunks[7:11]
    assert last.processed == last.total == book.confirmed
    _assert_shipped(app, tmp_path, book)


def test_former_nights_cost_tonight_nothing(
    app: Todoke, counts: Counts, record_property: Record
) -> None:
    """SH-7, SH-8: pages, rows or steps, with ten times, and with a hundred times as many before."""
    tonight = counts.confirmed_orders // 100
    few = OrderBook(tonight * 10)
    of_few = _cost_of_a_night(app, few, OrderBook(tonight, first=few.next))
    many = OrderBook(tonight * 100, first=few.next + tonight * 2)
    of_many = _cost_of_a_night(app, many, OrderBook(tonight, first=many.next))
    record_property(f"to create {tonight}, and to find the others, behind {few.ready}", str(of_few))
    record_property(f"behind {many.ready} more", str(of_many))
    for more, less in zip(of_many, of_few, strict=True):
        assert more < LEVEL * less


def _cost_of_a_night(app: Todoke, former: OrderBook, tonight: OrderBook) -> tuple[int, int]:
    """To make shipments for all that is confirmed; and what the other jobs look for."""
    former.write(app.engine)
    with app.session() as session:
        app.jobs.run(session, "create-shipment", by="proof", reason="a former night")
    app.drain()
    _let_all_leave(app)
    settle_down(app)
    tonight.write(app.engine)
    with app.engine.connect() as connection:
        return cost(connection, partial(_create, app)), cost(connection, _look)


def _create(app: Todoke, connection: Connection) -> None:
    """As the job does it, chunk by chunk, but on this one connection."""
    source, after = orders_to_ship(), None
    while True:
        with Session(connection) as session, session.begin():
            found = source.confirmed(session, after, AT_ONCE)
            if not found:
                return
            ship(session, source, found, app.clock.now())
            after = found[-1].parcel.order_id


def _look(connection: Connection) -> None:
    with Session(connection) as session:
        ready_shipments(session, None, 2000)
        allotted_files(session, None, 1)
        exported_files(session)


def _let_all_leave(app: Todoke) -> None:
    """What was prepared has been sent since, and is of no concern to anybody."""
    with app.session() as session:
        prepared = orders.c.status == OrderStatus.PREPARING_SHIPMENT
        session.execute(update(orders).where(prepared).values(status=OrderStatus.SHIPPED))
        passed_over = orders.c.status == OrderStatus.CONFIRMED
        session.execute(update(orders).where(passed_over).values(status=OrderStatus.CANCELLED))
        kept = stock_reservations.c.type == ReservationType.COMMITTED
        session.execute(update(stock_reservations).where(kept).values(type=ReservationType.SHIPPED))


# --- what has become of the orders -------------------------------------------------------------


def _assert_shipped(app: Todoke, folder: Path, *books: OrderBook) -> None:
    """Each that was ready has one shipment, told to the warehouse once; others are untouched."""
    all_orders = [order for book in books for order in book]
    ready = [order for order in all_orders if order.kind is Kind.READY]
    rows = _read(app, select(shipments.c.order_id, shipments.c.shipment_type, shipments.c.status))
    _assert_same(rows, ((order.id, "OUTBOUND", "TRANSFERRED") for order in ready))
    items = select(
        shipments.c.order_id, shipment_items.c.sku, shipment_items.c.name, shipment_items.c.quantity
    ).join(shipments, shipments.c.id == shipment_items.c.shipment_id)
    _assert_same(_read(app, items), ((order.id, *line) for order in ready for line in order.lines))
    _assert_same(
        _read(app, select(orders.c.id, orders.c.status, orders.c.revision)),
        (
            (order.id, OrderStatus.PREPARING_SHIPMENT, 1)
            if order.kind is Kind.READY
            else (order.id, order.kind.status, 0)
            for order in all_orders
        ),
    )
    _assert_same(
        _told(folder),
        (
            ("OUTBOUND", order.number, sku, name, str(quantity), *order.recipient.values())
            for order in ready
            for sku, name, quantity in order.lines
        ),
    )


def _told(folder: Path) -> Iterator[tuple[str, ...]]:
    """What the warehouse was told in all files, without the shipments' own numbers."""
    for file in sorted((folder / "sent").iterdir()):
        with file.open(encoding="utf-8-sig", newline="") as text:
            _, *lines = csv.reader(text)
        assert len({line[0] for line in lines}) <= 2000
        yield from (tuple(line[1:]) for line in lines)


def _assert_same(found: Iterable[tuple[Any, ...]], expected: Iterable[tuple[Any, ...]]) -> None:
    """Each as often; of differences a few are shown, since there may be very many."""
    have, want = Counter(found), Counter(expected)
    assert (list(have - want)[:3], list(want - have)[:3]) == ([], [])


def _read(app: Todoke, query: Select[Any]) -> Sequence[tuple[Any, ...]]:
    with app.engine.connect() as connection, reading(connection):
        return [tuple(row) for row in connection.execute(query)]


def _made(app: Todoke) -> int:
    ((made,),) = _read(app, select(func.count()).select_from(shipments))
    return int(made)


def _ready_among(book: OrderBook, confirmed: int) -> int:
    """How many of the first that are confirmed are to be shipped."""
    first = islice(
        (order for order in book if order.kind.status == OrderStatus.CONFIRMED), confirmed
    )
    return sum(order.kind is Kind.READY for order in first)


def _chunks(book: OrderBook) -> int:
    return ceil(book.confirmed / AT_ONCE)
