"""What can be done with shipments. Every verb works in the caller's transaction."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shop.shipping.model import Item, Parcel, Shipment, ShipmentStatus, ShipmentType
from shop.shipping.table import shipment_items, shipments


class ReturnExists(Exception):
    """There is one return for an order, and this one has it."""

    def __init__(self, order_id: int) -> None:
        self.order_id = order_id
        super().__init__(f"the return of order {order_id} is asked for already")


def add_shipments(
    session: Session, kind: ShipmentType, parcels: Sequence[Parcel], at: datetime
) -> None:
    """One for each parcel, ready to be told to the warehouse."""
    if not parcels:
        return
    session.execute(insert(shipments), [_row(kind, parcel, at) for parcel in parcels])
    numbers = outbound_or_return(session, kind, [parcel.order_id for parcel in parcels])
    items = [
        {"shipment_id": numbers[parcel.order_id], **item._asdict()}
        for parcel in parcels
        for item in parcel.items
    ]
    session.execute(insert(shipment_items), items)


def outbound_or_return(
    session: Session, kind: ShipmentType, order_ids: Collection[int]
) -> Mapping[int, int]:
    """The shipment of this kind of each order that has one."""
    query = select(shipments.c.order_id, shipments.c.id).where(
        shipments.c.order_id.in_(order_ids), shipments.c.shipment_type == kind
    )
    return {row.order_id: row.id for row in session.execute(query)}


def request_return(session: Session, parcel: Parcel, at: datetime) -> Shipment:
    """Have fetched what was sent; the warehouse is told with the next file."""
    try:
        with session.begin_nested():
            add_shipments(session, ShipmentType.RETURN, [parcel], at)
    except IntegrityError as error:
        raise ReturnExists(parcel.order_id) from error
    found = outbound_or_return(session, ShipmentType.RETURN, [parcel.order_id])
    return _read(session, shipments.c.id == found[parcel.order_id])[0]


def shipments_of(session: Session, order_id: int) -> Sequence[Shipment]:
    return _read(session, shipments.c.order_id == order_id)


def latest_shipments(session: Session, limit: int, before: int | None = None) -> Sequence[Shipment]:
    return _read(session, shipments.c.id < before if before else None, limit)


def _read(session: Session, which: Any, limit: int | None = None) -> Sequence[Shipment]:
    query = select(shipments).order_by(shipments.c.id.desc()).limit(limit)
    rows = session.execute(query if which is None else query.where(which)).all()
    items = _items(session, [row.id for row in rows])
    return [
        Shipment(
            id=row.id,
            order_id=row.order_id,
            order_number=row.order_number,
            shipment_type=row.shipment_type,
            status=row.status,
            file_id=row.file_id,
            created_at=row.created_at,
            items=items[row.id],
        )
        for row in rows
    ]


def _items(session: Session, ids: Collection[int]) -> Mapping[int, list[Item]]:
    items = shipment_items.c
    query = select(items.shipment_id, items.sku, items.name, items.quantity)
    found: defaultdict[int, list[Item]] = defaultdict(list)
    for shipment, *item in session.execute(
        query.where(items.shipment_id.in_(ids)).order_by(items.id)
    ):
        found[shipment].append(Item(*item))
    return found


def _row(kind: ShipmentType, parcel: Parcel, at: datetime) -> dict[str, Any]:
    return {
        "order_id": parcel.order_id,
        "order_number": parcel.order_number,
        "shipment_type": kind,
        "status": ShipmentStatus.READY,
        "recipient_name": parcel.recipient_name,
        "postal_code": parcel.postal_code,
        "address": parcel.address,
        "phone": parcel.phone,
        "created_at": at,
    }
