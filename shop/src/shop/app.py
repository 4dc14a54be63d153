"""The shop as one application; the only place that names its contexts together."""

from shop.audit.context import audit
from shop.brokerage.context import brokerage
from shop.fulfilment import orders_to_ship
from shop.inventory.context import inventory
from shop.notifications.context import notifications
from shop.ordering.context import ordering
from shop.shipping.context import shipping
from todoke import Todoke


def wired(app: Todoke) -> Todoke:
    """The application with the shop's contexts in it; nothing connects yet."""
    app.include(ordering, inventory, shipping, notifications, brokerage, audit)
    app.provide(orders_to_ship)
    return app


app = wired(Todoke())
