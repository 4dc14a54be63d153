"""Each of the shop's jobs, dead at every point that it passes: what is left is taken up again.

Every death is one more night of the same shop. What a receiver sees is looked at when the worker is
dead, and again when another has finished.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.dying import drain_through
from tests.servers.sftp_server import SftpServer

from shop.mailbox.server import MailServer
from shop.shipping.shipment_csv import COLUMNS
from shop.testing import Sandbox, sandbox
from todoke import crash
from todoke.testing import Clock

CHAIN = ("create-shipment", "export-shipment-file", "sftp-put")
CLAIMING = ("claim.before_commit", "claim.after_commit")
CHUNKS = ("chunk.before_commit", "chunk.after_commit")
SETTLING = ("handler.after_call", "settle.before_commit", "settle.after_commit")
FOLLOWING = ("job.before_follower", "enqueue.before_insert", "enqueue.after_insert")
FILE = ("file.before_write", "file.after_write", "file.after_sync", "file.after_rename")
TRANSFER = (
    "transfer.before_upload",
    "transfer.after_upload",
    "transfer.before_reveal",
    "transfer.after_reveal",
    "transfer.after_mark",
)
PASSED = {
    "release-reservations": {*CLAIMING, *CHUNKS, *SETTLING},
    "create-shipment": {*CLAIMING, *CHUNKS, *SETTLING, *FOLLOWING},
    "export-shipment-file": {*CLAIMING, *CHUNKS, *FILE, *SETTLING, *FOLLOWING},
    "sftp-put": {*CLAIMING, *TRANSFER, *SETTLING},
}
OF_THE_WORKER = ("lease.", "stage.", "tick.", "lanes.", "shutdown.", "rescue.", "handler.before")
"""Not of a job, but of the process that runs it; todoke's own tests die there."""


@contextmanager
def paused(shop: Sandbox, *jobs: str) -> Iterator[None]:
    with shop.app.session() as session:
        for job in jobs:
            shop.app.jobs.pause(session, job=job, by="test", reason="one at a time")
    yield
    with shop.app.session() as session:
        for job in jobs:
            shop.app.jobs.resume(session, job=job, by="test", reason="seen")


def alone(shop: Sandbox, job: str) -> AbstractContextManager[None]:
    """Nothing but this job runs inside of the block, of those that follow each other."""
    return paused(shop, *(other for other in CHAIN if other != job))


def brought_to(shop: Sandbox, job: str) -> tuple[int, int]:
    """Two orders on their way, so far that this job is the next."""
    orders = shop.place_and_confirm(), shop.place_and_confirm()
    shop.work()
    with shop.app.session() as session:
        shop.app.jobs.run(session, CHAIN[0], by="test", reason="night has come")
    for before in CHAIN[: CHAIN.index(job)]:
        with alone(shop, before):
            shop.work()
    return orders


def with_expired_reservations(shop: Sandbox) -> None:
    """Three orders whose time is over, and the job that will notice is the next."""
    for _ in range(3):
        shop.place()
    with paused(shop, "release-reservations"):
        shop.work("35m")


def content_of_the_night(shop: Sandbox, orders: tuple[int, int]) -> bytes:
    """What the file of these two orders holds, once each has its one shipment in it."""
    (one,), (other,) = (shop.shipments(order) for order in orders)
    assert one["status"] == other["status"] == "TRANSFERRED"
    assert {shop.order(order)["status"] for order in orders} == {"PREPARING_SHIPMENT"}
    file = shop.files()[-1]
    assert (file["status"], file["shipments"]) == ("TRANSFERRED", 2)
    assert one["fileId"] == other["fileId"] == file["id"]
    content = (shop.exported / str(file["name"])).read_bytes()
    head, *lines = content.decode("utf-8-sig").splitlines()
    assert head == ",".join(COLUMNS)
    numbers = [shop.order(order)["orderNumber"] for order in orders]
    assert [line.split(",")[2] for line in lines] == numbers
    assert shop.dead_letters() == []
    return content


def taken(folder: Path) -> dict[str, bytes]:
    """What a receiver finds, and takes away: he takes no hidden names."""
    if not folder.is_dir():
        return {}
    seen = [file for file in folder.iterdir() if not file.name.startswith(".")]
    return {file.name: file.read_bytes() for file in seen}


@pytest.mark.parametrize("job", CHAIN)
def test_a_death_in_the_night_changes_nothing_of_its_end(shop: Sandbox, job: str) -> None:
    """SH-7, SH-8, SH-9: one shipment for each order, one whole file, sent once."""
    seen: dict[str, bytes] = {}

    def look() -> None:
        seen.update(taken(shop.exported) | taken(shop.sent))

    for night, point in enumerate(sorted(PASSED[job]), 1):
        orders = brought_to(shop, job)
        with alone(shop, job):
            drain_through(shop.app, point, between=look)
        shop.work()
        content = content_of_the_night(shop, orders)
        sent = taken(shop.sent)
        assert len(shop.files()) == len(sent) == night, point
        assert sent[max(sent)] == content, point
        assert seen.items() <= sent.items(), f"{point}: part of a file was seen"
        assert len(list(shop.sent.iterdir())) == night, f"{point}: something was left lying about"


def test_a_death_while_sending_by_sftp_sends_nothing_twice(
    migrated_url: str, mail_server: MailServer, clock: Clock, sftp: SftpServer
) -> None:
    """SH-9, F23: the server gave each file its name once, and showed no part of it."""
    told = {f"jobs.sftp.{name}": value for name, value in sftp.values().items()}
    with sandbox(migrated_url, mail_server, clock, told=told) as shop:
        for night, point in enumerate(sorted(PASSED["sftp-put"]), 1):
            orders = brought_to(shop, "sftp-put")
            drain_through(shop.app, point)
            content = content_of_the_night(shop, orders)
            name = shop.files()[-1]["name"]
            assert taken(sftp.folder)[name] == content, point
            assert sftp.revealed.count(name) == 1, point
            assert {sight[name] for sight in sftp.sights if name in sight} == {len(content)}
            assert len(list(sftp.folder.iterdir())) == night, point


def test_a_death_while_freeing_stock_frees_it_once(shop: Sandbox) -> None:
    """SH-6"""
    for night, point in enumerate(sorted(PASSED["release-reservations"]), 1):
        with_expired_reservations(shop)
        drain_through(shop.app, point)
        assert shop.stock() == (100, 100, 0, 0), point
        freed = [run.processed or 0 for run in shop.runs("release-reservations")]
        assert sum(freed) == 3 * night, point


@pytest.mark.parametrize("job", PASSED)
def test_no_point_that_a_job_passes_is_left_out_above(small_shop: Sandbox, job: str) -> None:
    """SH-6, SH-7, SH-8, SH-9"""
    if job in CHAIN:
        brought_to(small_shop, job)
    else:
        with_expired_reservations(small_shop)
    passed: set[str] = set()
    before = crash.arm(passed.add)
    try:
        with alone(small_shop, job):
            small_shop.work()
    finally:
        crash.arm(before)
    assert PASSED[job] == {point for point in passed if not point.startswith(OF_THE_WORKER)}
