from sqlalchemy.orm import Session

from shop.inventory.context import inventory
from shop.inventory.model import NotReserved, OutOfStock
from shop.inventory.reservations import commit, release, ship
from shop.ordering.messages import OrderCancelled, OrderConfirmed, OrderShipped
from todoke import PermanentError, Todoke


@inventory.on(OrderConfirmed, OrderCancelled, OrderShipped, name="keep-stock")
def keep_stock(
    event: OrderConfirmed | OrderCancelled | OrderShipped, session: Session, app: Todoke
) -> None:
    """Follow an order: what is kept for it, and whether it has left.

    One handler for all three, since todoke keeps the order of an aggregate's events per handler.
    """
    try:
        match event:
            case OrderConfirmed():
                commit(session, event.order_id)
            case OrderCancelled():
                release(session, event.order_id, app.clock.now())
            case OrderShipped():
                ship(session, event.order_id)
    except OutOfStock as error:
        # Its time ran out before it was confirmed, and others were quicker.
        raise PermanentError(
            f"order {event.order_id}: {error}. Receive stock and redrive this, or cancel the order"
            " and resolve this.",
            code="OUT_OF_STOCK",
        ) from error
    except NotReserved as error:
        raise PermanentError(
            f"{error}. Look at its rows in stock_reservations, and redrive or resolve this.",
            code="NOT_RESERVED",
        ) from error
