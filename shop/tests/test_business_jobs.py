"""The nightly jobs, point by point as seed E §8 asks; its first point is in test_job_board."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import select
from tests.dying import drain_through

from shop.inventory.model import ReservationType
from shop.inventory.table import stock_reservations
from shop.mailbox.server import MailServer
from shop.shipping.shipment_csv import COLUMNS
from shop.testing import SKU, Sandbox, sandbox
from todoke.testing import Clock


def ready_order(shop: Sandbox) -> int:
    """Confirmed, and its stock is kept for good."""
    order_id = shop.place_and_confirm()
    shop.work()
    return order_id


@contextmanager
def told(url: str, mail: MailServer, clock: Clock, **settings: object) -> Iterator[Sandbox]:
    with sandbox(url, mail, clock, told=settings) as shop:
        yield shop


def run_alone(shop: Sandbox, job: str) -> None:
    """The job without what would follow it: the others are paused."""
    others = {"create-shipment", "export-shipment-file", "sftp-put"} - {job}
    with shop.app.session() as session:
        for other in others:
            shop.app.jobs.pause(session, job=other, by="test", reason="one at a time")
    shop.run(job)
    with shop.app.session() as session:
        for other in others:
            shop.app.jobs.resume(session, job=other, by="test", reason="seen")


def kinds(shop: Sandbox) -> list[tuple[ReservationType, bool]]:
    """Of each reservation: its type, and whether it was deleted."""
    with shop.app.session() as session:
        rows = session.execute(select(stock_reservations).order_by(stock_reservations.c.id))
        return [(row.type, row.deleted_at is not None) for row in rows]


def test_a_confirmed_order_gets_one_outbound_shipment(shop: Sandbox) -> None:
    """SH-7, TS-3 (E §8, 2)"""
    order_id = ready_order(shop)
    run_alone(shop, "create-shipment")
    (shipment,) = shop.shipments(order_id)
    assert (shipment["shipmentType"], shipment["status"]) == ("OUTBOUND", "READY")
    assert shipment["items"] == [{"sku": SKU, "name": "急須", "quantity": 1}]


def test_the_order_is_then_being_prepared(shop: Sandbox) -> None:
    """SH-7, TS-3 (E §8, 3)"""
    order_id = ready_order(shop)
    run_alone(shop, "create-shipment")
    assert shop.order(order_id)["status"] == "PREPARING_SHIPMENT"


def test_the_export_writes_a_file_and_the_shipment_is_exported(shop: Sandbox) -> None:
    """SH-8, TS-3 (E §8, 4)"""
    order_id = ready_order(shop)
    run_alone(shop, "create-shipment")
    run_alone(shop, "export-shipment-file")
    (file,) = shop.files()
    (written,) = shop.exported.iterdir()
    assert (written.name, file["status"]) == (file["name"], "EXPORTED")
    head, line = written.read_text("utf-8-sig").splitlines()
    assert head == ",".join(COLUMNS)
    assert shop.order(order_id)["orderNumber"] in line
    assert [one["status"] for one in shop.shipments(order_id)] == ["EXPORTED"]


def test_the_export_does_not_touch_the_order(shop: Sandbox) -> None:
    """SH-8, TS-3 (E §8, 5)"""
    order_id = ready_order(shop)
    run_alone(shop, "create-shipment")
    before = shop.order(order_id)
    run_alone(shop, "export-shipment-file")
    assert shop.order(order_id) == before
    assert before["status"] == "PREPARING_SHIPMENT"


def test_the_file_is_copied_to_sent(shop: Sandbox) -> None:
    """SH-9, TS-3 (E §8, 6): all three jobs, each enqueued by the one before."""
    order_id = ready_order(shop)
    shop.run("create-shipment")
    (sent,), (written,) = shop.sent.iterdir(), shop.exported.iterdir()
    assert (sent.name, sent.read_bytes()) == (written.name, written.read_bytes())
    assert [one["status"] for one in shop.shipments(order_id)] == ["TRANSFERRED"]
    assert [one["status"] for one in shop.files()] == ["TRANSFERRED"]


def test_mark_shipped_moves_an_order_in_preparation(shop: Sandbox) -> None:
    """SH-2, TS-3 (E §8, 7)"""
    order_id = ready_order(shop)
    shop.run("create-shipment")
    assert shop.web.post(f"/api/order/{order_id}/mark-shipped").json()["status"] == "SHIPPED"


def test_expired_reservations_are_soft_deleted(shop: Sandbox) -> None:
    """SH-6, TS-3 (E §8, 8): and counted."""
    shop.place()
    shop.place()
    shop.work("35m")
    shop.run("release-reservations")
    assert kinds(shop) == [(ReservationType.TENTATIVE, True)] * 2
    assert shop.stock() == (100, 100, 0, 0)
    assert sum(run.processed or 0 for run in shop.runs("release-reservations")) == 2


def test_creating_shipments_twice_makes_one(shop: Sandbox) -> None:
    """SH-7, TS-3 (E §8, 9)"""
    order_id = ready_order(shop)
    shop.run("create-shipment")
    shop.run("create-shipment")
    assert len(shop.shipments(order_id)) == 1
    assert len(shop.files()) == 1


def test_putting_files_twice_sends_them_once(shop: Sandbox) -> None:
    """SH-9, TS-3 (E §8, 10)"""
    ready_order(shop)
    shop.run("create-shipment")
    before = shop.files()
    (sent,) = shop.sent.iterdir()
    sent.unlink()  # the receiver has taken it
    shop.run("sftp-put")
    assert shop.files() == before
    assert list(shop.sent.iterdir()) == []


def test_a_job_that_is_switched_off_is_recorded_as_skipped(
    migrated_url: str, mail_server: MailServer, clock: Clock
) -> None:
    """JB-4, TS-3 (E §8, 11)"""
    switch = {"jobs.enabled.create-shipment": False}
    with told(migrated_url, mail_server, clock, **switch) as shop:
        order_id = ready_order(shop)
        shop.run("create-shipment")
        assert [run.status for run in shop.runs("create-shipment")] == ["SKIPPED"]
        assert shop.shipments(order_id) == []
        assert shop.order(order_id)["status"] == "CONFIRMED"


def late_order(shop: Sandbox) -> int:
    """Confirmed when its reservation had expired and somebody else had taken all."""
    late = shop.place()
    shop.work("35m")
    shop.run("release-reservations")
    shop.ask_for((SKU, 100)).raise_for_status()
    shop.confirm(late)
    shop.work()
    return late


def test_a_confirmed_order_without_committed_stock_is_passed_over(shop: Sandbox) -> None:
    """SH-7, TS-3 (E §8, 12)"""
    late = late_order(shop)
    (letter,) = shop.dead_letters()
    assert (letter.code, letter.name) == ("OUT_OF_STOCK", "keep-stock")
    shop.run("create-shipment")
    assert shop.shipments(late) == []
    assert shop.order(late)["status"] == "CONFIRMED"


def test_it_is_shipped_once_stock_has_come_in(shop: Sandbox) -> None:
    """SH-5, SH-7, ER-4: the dead letter is redriven."""
    late = late_order(shop)
    shop.offer(stock=1)
    with shop.app.session() as session:
        short = shop.app.dead_letters.where(code="OUT_OF_STOCK")
        shop.app.dead_letters.redrive(session, short, by="mika", reason="stock came in")
    shop.work()
    shop.run("create-shipment")
    assert [one["status"] for one in shop.shipments(late)] == ["TRANSFERRED"]


def test_a_transfer_that_fails_is_tried_again(shop: Sandbox) -> None:
    """SH-9, TS-3 (E §8, 13): three times, each with a row in the history."""
    ready_order(shop)
    shop.sent.write_text("a file where the folder should be")
    shop.run("create-shipment")
    assert [(run.status, run.attempt) for run in shop.runs("sftp-put")] == [("FAILED", 1)]
    shop.work("15s", "25s")
    assert [run.attempt for run in shop.runs("sftp-put")] == [1, 2, 3]
    shop.sent.unlink()
    shop.work("45s")
    assert [(run.status, run.attempt) for run in shop.runs("sftp-put")][-1] == ("SUCCEEDED", 4)
    assert len(list(shop.sent.iterdir())) == 1


@pytest.mark.parametrize("point", ["file.before_write", "file.after_write", "file.after_sync"])
def test_a_stop_in_the_middle_shows_no_partial_file(shop: Sandbox, point: str) -> None:
    """SH-8, TS-3 (E §8, 14)"""
    ready_order(shop)
    run_alone(shop, "create-shipment")
    seen: list[Path] = []

    def look() -> None:
        seen.extend(visible(shop.exported))

    with shop.app.session() as session:
        shop.app.jobs.run(session, "export-shipment-file", by="test", reason="to see it die")
    drain_through(shop.app, point, between=look)
    assert seen == []
    assert [one["status"] for one in shop.files()] == ["TRANSFERRED"]
    assert visible(shop.exported) == list(shop.exported.iterdir())


def visible(folder: Path) -> list[Path]:
    """What a receiver would take: no hidden names."""
    if not folder.is_dir():
        return []
    return [file for file in folder.iterdir() if not file.name.startswith(".")]
