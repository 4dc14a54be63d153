"""The shop as one application; the only place that names its contexts together."""

from shop.audit.context import audit
from shop.notifications.context import notifications
from shop.ordering.context import ordering
from todoke import Settings, Todoke
from todoke.clock import Clock


def build(settings: Settings | None = None, clock: Clock | None = None) -> Todoke:
    """Wire the shop; nothing connects before the first session."""
    app = Todoke(settings=settings or Settings.load(), clock=clock)
    app.include(ordering, notifications(app.settings), audit)
    return app


app = build()
