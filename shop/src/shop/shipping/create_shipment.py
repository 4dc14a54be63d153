from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from shop.shipping.context import shipping
from shop.shipping.export_shipment_file import export_shipment_file
from shop.shipping.model import ShipmentType
from shop.shipping.ports import ConfirmedOrder, OrdersToShip
from shop.shipping.shipments import add_shipments, outbound_or_return
from todoke import Run, Todoke

AT_ONCE = 200
"""Orders of one commit: who wants to cancel one of them waits for it."""


@shipping.job(timeout="1h")
def create_shipment(run: Run, app: Todoke, orders: OrdersToShip) -> None:
    """Make a shipment for each confirmed order whose stock is kept for good.

    Shipment and order change in one commit, a few hundred at a time.
    """
    made = 0
    for session, found in run.chunks(
        orders.confirmed,
        cursor=lambda order: order.parcel.order_id,
        size=AT_ONCE,
        left=orders.count,
    ):
        made += ship(session, orders, found, app.clock.now())
    run.metric("shipments", made)
    run.then(export_shipment_file.bind())


def ship(
    session: Session, orders: OrdersToShip, found: Sequence[ConfirmedOrder], at: datetime
) -> int:
    """Prepare those that can be shipped and have not been; answers how many."""
    parcels = [order.parcel for order in found if order.has_committed_stock]
    ids = [parcel.order_id for parcel in parcels]
    there = outbound_or_return(session, ShipmentType.OUTBOUND, ids)
    new = [parcel for parcel in parcels if parcel.order_id not in there]
    add_shipments(session, ShipmentType.OUTBOUND, new, at)
    orders.prepare(session, [parcel.order_id for parcel in new])
    return len(new)


shipping.schedule(
    create_shipment, cron="0 1 * * *", tz="Asia/Tokyo", missed="latest", overlap="skip"
)
