"""The shop's night with workers that are really killed, and a warehouse that must not notice."""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from shop.ordering.model import OrderStatus
from shop.ordering.table import orders
from shop.shipping.model import ShipmentStatus
from shop.shipping.table import shipments
from shop.testing import prepare
from tests.counts import Counts
from tests.proof.night_shift import add_orders, build
from tests.proof.workers import Workers, workers
from tests.servers.sftp_server import SftpServer
from tests.waiting import until
from todoke import Todoke

POINTS = (
    "claim.after_commit",
    "chunk.before_commit",
    "chunk.after_commit",
    "file.before_write",
    "file.after_write",
    "file.after_sync",
    "file.after_rename",
    "transfer.before_upload",
    "transfer.after_upload",
    "transfer.before_reveal",
    "transfer.after_reveal",
    "transfer.after_mark",
    "job.before_follower",
    "settle.before_commit",
    "settle.after_commit",
)
ORDERS = 3


@pytest.fixture
def sftp(tmp_path: Path) -> Iterator[SftpServer]:
    with SftpServer(tmp_path / "remote") as running:
        yield running


def test_no_kill_in_the_night_loses_a_parcel_or_sends_a_file_twice(
    migrated_url: str,
    sftp: SftpServer,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """SH-7, SH-8, SH-9: kill -9 at the points that the jobs pass, or when all was told."""
    settings = {f"jobs.sftp.{name}": value for name, value in sftp.values().items()}
    with (
        closing(build(migrated_url, str(tmp_path), settings)) as app,
        workers(migrated_url, tmp_path, settings, "tests.proof.night_shift") as band,
    ):
        prepare(app)
        chance = random.Random(counts.night_kills)
        for _ in range(counts.night_kills):
            _night(app, band, f"{chance.choice(POINTS)}:{chance.randint(1, 2)}")
        _check(app, sftp, counts.night_kills * ORDERS)
        record_property("kills", band.kills)
        assert band.kills == counts.night_kills
    record_property("orders", counts.night_kills * ORDERS)
    record_property("files", len(sftp.revealed))


def _night(app: Todoke, band: Workers, point: str) -> None:
    """A worker dies at the point, or when all was told; another ends what is left.

    The other is not killed: a job that was in the way of three deaths would be given up.
    """
    band.start(point)
    add_orders(app, ORDERS)
    until(lambda: not band.alive or _is_told(app), 60)
    for worker in list(band.alive):
        band.kill(worker)
    band.start()
    until(lambda: _is_told(app) and _is_calm(app), 60)
    band.stop()


def _is_calm(app: Todoke) -> bool:
    """No job waits or runs."""
    with app.session() as session:
        living = select(func.count()).select_from(app.job_room.tables.work.live)
        return session.scalar(living) == 0


def _is_told(app: Todoke) -> bool:
    """Every confirmed order is on its way, and the warehouse was told of all."""
    told = shipments.c.status == ShipmentStatus.TRANSFERRED
    confirmed = orders.c.status == OrderStatus.CONFIRMED
    with app.session() as session:
        left = session.scalar(select(func.count()).select_from(orders).where(confirmed))
        untold = session.scalar(select(func.count()).select_from(shipments).where(~told))
        return not left and not untold


def _check(app: Todoke, sftp: SftpServer, expected: int) -> None:
    with app.session() as session:
        numbers = session.scalars(select(orders.c.number)).all()
        assert app.dead_letters.list(session).items == []
    assert len(numbers) == expected
    parcels = Counter(row["order_number"] for name in sftp.revealed for row in _rows(sftp, name))
    assert parcels == Counter(numbers), "each order in one line of one file"
    assert len(set(sftp.revealed)) == len(sftp.revealed), "no file got its name twice"
    sizes = {file.name: file.stat().st_size for file in sftp.folder.iterdir()}
    assert set(sizes) == set(sftp.revealed), "nothing else is left there"
    assert all(sizes[name] == size for sight in sftp.sights for name, size in sight.items())


def _rows(sftp: SftpServer, name: str) -> list[dict[str, str]]:
    text = (sftp.folder / name).read_text("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))
