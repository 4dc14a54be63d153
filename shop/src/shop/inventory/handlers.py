from sqlalchemy.orm import Session

from shop.inventory.context import inventory
from shop.inventory.model import OutOfStock
from shop.inventory.reservations import commit, release, ship
from shop.ordering.messages import OrderCancelled, OrderConfirmed, OrderShipped
from todoke import Attempt, PermanentError, Todoke


@inventory.on(OrderConfirmed, OrderCancelled, OrderShipped, name="keep-stock")
def keep_stock(
    event: OrderConfirmed | OrderCancelled | OrderShipped,
    session: Session,
    attempt: Attempt,
    app: Todoke,
) -> None:
    """Follow an order: what is kept for it, and whether it has left.

    One handler for all three, since todoke keeps the order of an aggregate's events per handler.
    """
    match event:
        case OrderConfirmed():
            try:
                commit(session, event.order_id)
            except OutOfStock as error:
                # Its time ran out before it was confirmed, and others were quicker.
                raise PermanentError(
                    f"order {event.order_id}: {error}. Receive stock and redrive this, or cancel"
                    " the order.",
                    code="OUT_OF_STOCK",
                ) from error
        case OrderCancelled():
            release(session, event.order_id, app.clock.now())
        case OrderShipped():
            ship(session, event.order_id)
