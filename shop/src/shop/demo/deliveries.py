"""Watching what arrives: mails in the catcher, and what became of the events."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from shop.demo.client import Site
from shop.demo.story import Confirmed
from todoke import Todoke


class Deliveries:
    """Prints every mail and every settled event once, as they come."""

    def __init__(self, app: Todoke, mail: Site) -> None:
        self._app = app
        self._mail = mail
        self._since = datetime.now(UTC)
        self._mails: dict[int, str] = {}
        self._settled: dict[str, str] = {}

    def look(self) -> None:
        for caught in reversed(self._mail.get("/api/mail").body):
            self._tell_mail(caught)
        with self._app.session() as session:
            for record in reversed(self._app.events.list(session, type="ORDER_CONFIRMED")):
                self._tell_event(record)

    def are_complete(self, confirmed: Iterable[Confirmed]) -> bool:
        """Every order is settled, and every mail that must follow has arrived."""
        subjects = " ".join(self._mails.values())
        return all(
            str(order.order_id) in self._settled
            and (order.number in subjects or not order.has_mail)
            for order in confirmed
        )

    def _tell_mail(self, caught: dict[str, Any]) -> None:
        if caught["id"] not in self._mails:
            self._mails[caught["id"]] = caught["subject"]
            print(f"  mail to {', '.join(caught['to'])}: {caught['subject']}")

    def _tell_event(self, record: Any) -> None:
        # The event ends as soon as its delivery to the mail handler is made; that is to be seen.
        if record.handler is None or record.settled_at is None or record.settled_at < self._since:
            return
        if record.key not in self._settled:
            self._settled[record.key] = record.status
            why = record.note or record.error_code
            print(f"  ORDER_CONFIRMED of order {record.key} is {record.status}", end="")
            print(f" ({why})" if why else "")
