"""Routes of orders. Each change, its event and its log entry are one transaction."""

from collections.abc import Callable

from fastapi import APIRouter
from sqlalchemy.orm import Session

from shop.ordering.model import Order
from shop.ordering.orders import (
    confirm_order,
    deliver_order,
    find_order,
    latest_orders,
    mark_order_shipped,
    place_order,
)
from shop.web.operations import ByOperator, Operator
from shop.web.paging import Before, Limit, OrderId
from shop.web.problems import documented
from shop.web.views import NewOrder, OrderPage, OrderView
from todoke import Todoke


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(prefix="/api/order", tags=["orders"], responses=documented(422))

    def perform(
        operation_type: str, operator: Operator, change: Callable[[Session], Order]
    ) -> OrderView:
        with app.session() as session:
            order = change(session)
            app.publish(session, operator.performed(operation_type, order, app.clock.now()))
            return OrderView.of(order)

    @router.post("", status_code=201)
    def place(request: NewOrder, operator: ByOperator) -> OrderView:
        def change(session: Session) -> Order:
            lines, email = request.order_lines(), request.customer_email
            return place_order(session, lines, email, app.clock.now())

        return perform("ORDER_PLACE", operator, change)

    @router.get("")
    def list_orders(limit: Limit = 50, before: Before = None) -> OrderPage:
        with app.session() as session:
            found = [OrderView.of(order) for order in latest_orders(session, limit, before)]
        return OrderPage(items=found, next=found[-1].id if len(found) == limit else None)

    @router.get("/{order_id}", responses=documented(404))
    def show(order_id: OrderId) -> OrderView:
        with app.session() as session:
            return OrderView.of(find_order(session, order_id))

    @router.post("/{order_id}/confirm", responses=documented(404, 409))
    def confirm(order_id: OrderId, operator: ByOperator) -> OrderView:
        return perform("ORDER_CONFIRM", operator, lambda session: confirm_order(session, order_id))

    @router.post("/{order_id}/mark-shipped", responses=documented(404, 409))
    def mark_shipped(order_id: OrderId, operator: ByOperator) -> OrderView:
        return perform(
            "ORDER_MARK_SHIPPED", operator, lambda session: mark_order_shipped(session, order_id)
        )

    @router.post("/{order_id}/deliver", responses=documented(404, 409))
    def deliver(order_id: OrderId, operator: ByOperator) -> OrderView:
        return perform("ORDER_DELIVER", operator, lambda session: deliver_order(session, order_id))

    return router
