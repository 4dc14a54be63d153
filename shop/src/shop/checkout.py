"""Placing an order: what is wanted and what is kept for it are one commit, or there is no order."""

from collections.abc import Mapping
from datetime import timedelta

from sqlalchemy.orm import Session

from shop.inventory.reservations import reserve
from shop.ordering.model import Language, Order, Recipient
from shop.ordering.orders import place_order
from shop.settings import Section
from todoke import Todoke


class Checkout:
    """Keeps stock for an order that is placed, for `inventory.reserve_minutes` (30)."""

    def __init__(self, app: Todoke) -> None:
        self._app = app
        minutes = Section(app.settings, "inventory").number("reserve_minutes", 30, most=10_080)
        self._patience = timedelta(minutes=minutes)

    def place(
        self,
        session: Session,
        wanted: Mapping[str, int],
        recipient: Recipient,
        customer_email: str | None = None,
        language: Language = Language.JAPANESE,
    ) -> Order:
        now = self._app.clock.now()
        order = place_order(session, wanted, recipient, customer_email, now, language)
        reserve(session, order.id, wanted, now + self._patience)
        return order
