"""Watching what arrives: mails, outcomes of broker orders, files in the warehouse."""

from datetime import UTC, datetime
from typing import Any

from shop.demo.client import Site
from shop.demo.story import Told
from shop.inventory.reservations import with_committed_stock
from todoke import Todoke
from todoke.operate import LedgerEntry


class Deliveries:
    """Prints every mail, settled event and outcome of a broker order once, as they come."""

    def __init__(self, app: Todoke, mail: Site, shop: Site) -> None:
        self._app = app
        self._mail = mail
        self._shop = shop
        self._since = datetime.now(UTC)
        self._mails: dict[int, str] = {}
        self._settled: dict[str, str] = {}
        self._outcomes: dict[str, str] = {}
        self._files: set[int] = set()
        self._shipped: set[int] = set()

    def look(self) -> None:
        for caught in reversed(self._mail.get("/api/mail").body):
            self._tell_mail(caught)
        with self._app.session() as session:
            for record in reversed(self._app.events.list(session, type="ORDER_CONFIRMED")):
                self._tell_event(record)
            for entry in reversed(self._app.ledger.list(session)):
                self._tell_outcome(entry)
        for file in reversed(self._shop.get("/api/shipment-file").body["items"]):
            self._tell_file(file)

    def have_stock(self, told: Told) -> bool:
        """Every order's stock is kept for good, so that it can be shipped."""
        orders = {order.order_id for order in told.confirmed}
        with self._app.session() as session:
            return with_committed_stock(session, orders) == orders

    def are_shipped(self, told: Told) -> bool:
        """The warehouse was told of every order."""
        for order in told.confirmed:
            shipments = self._shop.get(f"/api/order/{order.order_id}/shipment").body
            if all(one["status"] == "TRANSFERRED" for one in shipments) and shipments:
                self._shipped.add(order.order_id)
        return len(self._shipped) == len(told.confirmed)

    def are_complete(self, told: Told) -> bool:
        """Every order is settled, and every mail that must follow has arrived."""
        subjects = " ".join(self._mails.values())
        return told.broker_key in self._outcomes and all(
            str(order.order_id) in self._settled
            and (order.number in subjects or not order.has_mail)
            for order in told.confirmed
        )

    def _tell_mail(self, caught: dict[str, Any]) -> None:
        if caught["id"] not in self._mails:
            self._mails[caught["id"]] = caught["subject"]
            print(f"  mail to {', '.join(caught['to'])}: {caught['subject']}")

    def _tell_event(self, record: Any) -> None:
        # The event ends as soon as its delivery to the mail handler is made; that is to be seen.
        is_mail = record.handler == "order-mail" and record.settled_at is not None
        if not is_mail or record.settled_at < self._since:
            return
        if record.key not in self._settled:
            self._settled[record.key] = record.status
            why = record.note or record.error_code
            print(f"  ORDER_CONFIRMED of order {record.key} is {record.status}", end="")
            print(f" ({why})" if why else "")

    def _tell_file(self, file: dict[str, Any]) -> None:
        moment = file["transferredAt"]
        if moment is None or datetime.fromisoformat(moment) < self._since:
            return
        if file["id"] not in self._files:
            self._files.add(file["id"])
            print(f"  the warehouse has {file['name']} with {file['shipments']} shipments")

    def _tell_outcome(self, entry: LedgerEntry) -> None:
        if entry.settled_at is None or entry.settled_at < self._since:
            return
        if entry.key not in self._outcomes:
            self._outcomes[entry.key] = entry.state
            what = entry.error_code or entry.response["brokerOrderId"]
            print(f"  broker order {entry.key} has {entry.state}: {what}")
