"""The shop as one application; the only place that names its contexts together."""

from shop.audit.context import audit
from shop.brokerage.context import brokerage
from shop.notifications.context import notifications
from shop.ordering.context import ordering
from todoke import Todoke


def wired(app: Todoke) -> Todoke:
    """The application with the shop's contexts in it; nothing connects yet."""
    app.include(ordering, notifications, brokerage, audit)
    return app


app = wired(Todoke())
