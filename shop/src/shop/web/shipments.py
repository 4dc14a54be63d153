"""Routes of shipments and of the files that tell of them."""

from collections.abc import Callable

from fastapi import APIRouter
from sqlalchemy.orm import Session

from shop.shipping.files import decide_send_again, decide_transferred, find_file, latest_files
from shop.shipping.model import ShipmentFile
from shop.shipping.sftp_put import sftp_put
from shop.shipping.shipments import latest_shipments
from shop.web.documented import documented
from shop.web.operations import ByOperator, Operator
from shop.web.paging import Before, FileId, Limit
from shop.web.shipping_views import (
    ShipmentFilePage,
    ShipmentFileView,
    ShipmentPage,
    ShipmentView,
)
from shop.web.views import seen
from todoke import Todoke

_DECIDED = documented("SHIPMENT_FILE_NOT_FOUND", "OUTCOME_IS_KNOWN")


def routes(app: Todoke) -> APIRouter:
    router = APIRouter(prefix="/api", tags=["shipments"], responses=documented("INVALID_REQUEST"))

    def decide(
        operation_type: str, operator: Operator, change: Callable[[Session], ShipmentFile]
    ) -> ShipmentFileView:
        with app.session() as session:
            file = change(session)
            details = {"name": file.name, "status": file.status.value}
            subject, now = f"shipment-file-{file.id}", app.clock.now()
            app.publish(session, operator.performed(operation_type, subject, details, now))
            return seen(ShipmentFileView, file)

    @router.get("/shipment", summary="List shipments")
    def list_shipments(limit: Limit = 50, before: Before = None) -> ShipmentPage:
        """Of all orders, newest first."""
        with app.session() as session:
            found = [seen(ShipmentView, one) for one in latest_shipments(session, limit, before)]
        return ShipmentPage(items=found, next=found[-1].id if len(found) == limit else None)

    @router.get("/shipment-file", summary="List shipment files")
    def list_files(limit: Limit = 50, before: Before = None) -> ShipmentFilePage:
        """What the warehouse was told, or will be, newest first."""
        with app.session() as session:
            found = [seen(ShipmentFileView, one) for one in latest_files(session, limit, before)]
        return ShipmentFilePage(items=found, next=found[-1].id if len(found) == limit else None)

    @router.get(
        "/shipment-file/{file_id}",
        summary="Show a shipment file",
        responses=documented("SHIPMENT_FILE_NOT_FOUND"),
    )
    def show(file_id: FileId) -> ShipmentFileView:
        """How far it has come."""
        with app.session() as session:
            return seen(ShipmentFileView, find_file(session, file_id))

    @router.post(
        "/shipment-file/{file_id}/mark-transferred",
        summary="Say that a file has arrived",
        responses=_DECIDED,
    )
    def mark_transferred(file_id: FileId, operator: ByOperator) -> ShipmentFileView:
        """Of a file whose outcome is unknown: the receiver says that he has it."""
        return decide(
            "SHIPMENT_FILE_MARK_TRANSFERRED",
            operator,
            lambda session: decide_transferred(session, file_id, app.clock.now()),
        )

    @router.post(
        "/shipment-file/{file_id}/send-again",
        summary="Send a file again",
        responses=_DECIDED,
    )
    def send_again(file_id: FileId, operator: ByOperator) -> ShipmentFileView:
        """Of a file whose outcome is unknown: the receiver says that he does not have it."""

        def change(session: Session) -> ShipmentFile:
            sftp_put.enqueue(session)
            return decide_send_again(session, file_id)

        return decide("SHIPMENT_FILE_SEND_AGAIN", operator, change)

    return router
