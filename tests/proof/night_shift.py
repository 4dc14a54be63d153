"""The shop's worker in the proofs of its night: told by the test where its SFTP server is."""

from __future__ import annotations

from sqlalchemy.orm import Session

from shop.app import wired
from shop.checkout import Checkout
from shop.inventory.reservations import commit
from shop.inventory.stock import receive_stock
from shop.ordering.model import Recipient
from shop.testing import SKU
from todoke import Settings, Todoke

LEASE: dict[str, object] = {
    "lease.duration": "1s",
    "lease.renew": "300ms",
    "outbox.poll": "100ms",
    "retry.job": {"delays": ["50ms", "50ms", "50ms"]},
    "jobs.export.shipments_per_file": 2,
    "jobs.schedule.create-shipment": "off",  # a proof may well run at one in the morning
}
_RECIPIENT = Recipient("山田花子", "100-0001", "東京都千代田区千代田1-1", "03-1234-5678")


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    told = {**LEASE, "jobs.export.folder": f"{folder}/export", **settings}
    return wired(Todoke(url, settings=Settings(told, environment={})))


def add_orders(app: Todoke, count: int) -> None:
    """Confirmed, with their stock kept for good; and the night's first job is due."""
    checkout = Checkout(app)
    with app.session() as session:
        receive_stock(session, SKU, count)
        for _ in range(count):
            _confirmed(session, checkout)
        app.jobs.run(session, "create-shipment", by="proof", reason="night has come")


def _confirmed(session: Session, checkout: Checkout) -> None:
    order = checkout.place(session, {SKU: 1}, _RECIPIENT)
    commit(session, order.id)
    order.confirm()
