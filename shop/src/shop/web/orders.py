"""Routes of orders. Each change, its event and its log entry are one transaction."""

from collections.abc import Callable

from fastapi import APIRouter
from sqlalchemy.orm import Session

from shop.checkout import Checkout
from shop.fulfilment import request_return_of
from shop.ordering.model import Order
from shop.ordering.orders import (
    cancel_order,
    confirm_order,
    deliver_order,
    find_order,
    latest_orders,
    mark_order_shipped,
)
from shop.shipping.shipments import shipments_of
from shop.web.documented import UNREADABLE, documented
from shop.web.operations import ByOperator, Operator
from shop.web.paging import Before, Limit, OrderId
from shop.web.shipping_views import ShipmentView
from shop.web.views import Cancellation, NewOrder, OrderPage, OrderView, seen
from todoke import Todoke
from todoke.fastapi import StrictRoute

_MOVED = documented("ORDER_NOT_FOUND", "INVALID_STATUS_TRANSITION")


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(
        prefix="/api/order",
        tags=["orders"],
        route_class=StrictRoute,
        responses=documented("INVALID_REQUEST"),
    )
    checkout = Checkout(app)

    def perform(
        operation_type: str, operator: Operator, change: Callable[[Session], Order]
    ) -> OrderView:
        with app.session() as session:
            order = change(session)
            log(session, operation_type, operator, order)
            return OrderView.of(order)

    def log(session: Session, operation_type: str, operator: Operator, order: Order) -> None:
        details = {"orderNumber": order.number, "status": order.status.value}
        subject, now = f"order-{order.id}", app.clock.now()
        app.publish(session, operator.performed(operation_type, subject, details, now))

    @router.post(
        "",
        summary="Place an order",
        status_code=201,
        responses=documented("OUT_OF_STOCK", "INVALID_REQUEST", "UNKNOWN_PRODUCT", *UNREADABLE),
    )
    def place(request: NewOrder, operator: ByOperator) -> OrderView:
        """Its stock is kept for a while; 409 where there is not enough."""

        def change(session: Session) -> Order:
            return checkout.place(
                session,
                request.wanted(),
                request.ship_to.recipient(),
                request.customer_email,
                request.language,
            )

        return perform("ORDER_PLACE", operator, change)

    @router.get("", summary="List orders")
    def list_orders(limit: Limit = 50, before: Before = None) -> OrderPage:
        """Newest first."""
        with app.session() as session:
            found = [OrderView.of(order) for order in latest_orders(session, limit, before)]
        return OrderPage(items=found, next=found[-1].id if len(found) == limit else None)

    @router.get("/{order_id}", summary="Show an order", responses=documented("ORDER_NOT_FOUND"))
    def show(order_id: OrderId) -> OrderView:
        """With its lines, and how far it has come."""
        with app.session() as session:
            return OrderView.of(find_order(session, order_id))

    @router.post("/{order_id}/confirm", summary="Confirm an order", responses=_MOVED)
    def confirm(order_id: OrderId, operator: ByOperator) -> OrderView:
        """Accept it, paid or to be paid later; the customer gets a mail."""
        return perform("ORDER_CONFIRM", operator, lambda session: confirm_order(session, order_id))

    @router.post(
        "/{order_id}/cancel",
        summary="Cancel an order",
        responses=_MOVED | documented(*UNREADABLE),
    )
    def cancel(order_id: OrderId, request: Cancellation, operator: ByOperator) -> OrderView:
        """Give it up, until its parcel is being prepared; its stock is free again."""
        return perform(
            "ORDER_CANCEL",
            operator,
            lambda session: cancel_order(session, order_id, request.reason),
        )

    @router.post("/{order_id}/mark-shipped", summary="Say that an order was sent", responses=_MOVED)
    def mark_shipped(order_id: OrderId, operator: ByOperator) -> OrderView:
        """The warehouse has sent it; only the nightly job makes orders ready for that."""
        return perform(
            "ORDER_MARK_SHIPPED", operator, lambda session: mark_order_shipped(session, order_id)
        )

    @router.post("/{order_id}/deliver", summary="Say that an order has arrived", responses=_MOVED)
    def deliver(order_id: OrderId, operator: ByOperator) -> OrderView:
        """The customer has it."""
        return perform("ORDER_DELIVER", operator, lambda session: deliver_order(session, order_id))

    @router.post(
        "/{order_id}/return",
        summary="Ask for a return",
        status_code=201,
        responses=documented("ORDER_NOT_FOUND", "INVALID_STATUS_TRANSITION", "RETURN_EXISTS"),
    )
    def ask_for_return(order_id: OrderId, operator: ByOperator) -> ShipmentView:
        """Have it fetched from the customer; the warehouse is told with the next file."""
        with app.session() as session:
            order, shipment = request_return_of(session, order_id, app.clock.now())
            log(session, "ORDER_RETURN", operator, order)
            return seen(ShipmentView, shipment)

    @router.get(
        "/{order_id}/shipment",
        summary="List the shipments of an order",
        responses=documented("ORDER_NOT_FOUND"),
    )
    def list_shipments(order_id: OrderId) -> list[ShipmentView]:
        """What is sent and what is fetched for it, newest first."""
        with app.session() as session:
            order = find_order(session, order_id)
            return [seen(ShipmentView, one) for one in shipments_of(session, order.id)]

    return router
