from shop.shipping.context import shipping
from shop.shipping.export_shipment_file import export_shipment_file
from shop.shipping.model import ShipmentType
from shop.shipping.ports import OrdersToShip
from shop.shipping.shipments import add_shipments, outbound_or_return
from todoke import Run, Todoke

_AT_ONCE = 500


@shipping.job(timeout="1h")
def create_shipment(run: Run, app: Todoke, orders: OrdersToShip) -> None:
    """Make a shipment for each confirmed order whose stock is kept for good.

    Shipment and order change in one commit, a few hundred at a time.
    """
    with app.session() as session:
        run.progress(0, orders.count(session))
    made = 0
    for session, found in run.chunks(
        orders.confirmed, cursor=lambda order: order.parcel.order_id, size=_AT_ONCE
    ):
        parcels = [order.parcel for order in found if order.has_committed_stock]
        ids = [parcel.order_id for parcel in parcels]
        there = outbound_or_return(session, ShipmentType.OUTBOUND, ids)
        new = [parcel for parcel in parcels if parcel.order_id not in there]
        add_shipments(session, ShipmentType.OUTBOUND, new, app.clock.now())
        orders.prepare(session, [parcel.order_id for parcel in new])
        made += len(new)
    run.metric("shipments", made)
    run.then(export_shipment_file.bind())


shipping.schedule(
    create_shipment, cron="0 1 * * *", tz="Asia/Tokyo", missed="latest", overlap="skip"
)
