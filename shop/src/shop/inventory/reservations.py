"""Who may have what. Every verb works in the caller's transaction.

Reservations are locked before stock, and stock in the order of its numbers, by everybody.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.orm import Session

from shop.inventory.model import ReservationType
from shop.inventory.stock import release_stock, reserve_stock, ship_stock
from shop.inventory.table import stock_reservations as reservations

_LIVING = reservations.c.deleted_at.is_(None)


class Reservation(NamedTuple):
    id: int
    sku: str
    quantity: int
    type: ReservationType
    is_living: bool


def reserve(
    session: Session, order_id: int, wanted: Mapping[str, int], expires_at: datetime
) -> None:
    """Keep so many of each for an order until then; OutOfStock where there are too few."""
    reserve_stock(session, wanted)
    kind = {"type": ReservationType.TENTATIVE, "expires_at": expires_at}
    rows = [
        {"order_id": order_id, "sku": sku, "quantity": quantity, **kind}
        for sku, quantity in wanted.items()
    ]
    session.execute(insert(reservations), rows)


def commit(session: Session, order_id: int) -> int:
    """Keep for good what is kept for an order; what has expired is taken anew, or OutOfStock."""
    found = _of_order(session, order_id, reservations.c.type == ReservationType.TENTATIVE)
    reserve_stock(session, _sums(one for one in found if not one.is_living))
    kept = {"type": ReservationType.COMMITTED, "expires_at": None, "deleted_at": None}
    _write(session, found, kept)
    return len(found)


def release(session: Session, order_id: int, at: datetime) -> int:
    """An order is cancelled: nothing is kept for it."""
    living = _of_order(session, order_id, _LIVING & _not_shipped())
    _give_back(session, living, at)
    return len(living)


def ship(session: Session, order_id: int) -> int:
    """An order's parcel has left."""
    committed = reservations.c.type == ReservationType.COMMITTED
    found = _of_order(session, order_id, committed & _LIVING)
    ship_stock(session, _sums(found))
    _write(session, found, {"type": ReservationType.SHIPPED})
    return len(found)


def expired(session: Session, after: int | None, size: int, now: datetime) -> Sequence[Reservation]:
    """Tentative ones whose time is over, behind this id; nobody else's until the commit."""
    tentative = reservations.c.type == ReservationType.TENTATIVE
    over = tentative & _LIVING & (reservations.c.expires_at <= now)
    query = _select(over & (reservations.c.id > (after or 0))).limit(size)
    return [_reservation(row) for row in session.execute(query)]


def release_expired(session: Session, found: Sequence[Reservation], at: datetime) -> None:
    _give_back(session, found, at)


def with_committed_stock(session: Session, order_ids: Collection[int]) -> set[int]:
    """Those of the orders for which something is kept for good, and nothing is missing."""
    rows = session.execute(
        select(reservations.c.order_id, reservations.c.type, _LIVING).where(
            reservations.c.order_id.in_(order_ids)
        )
    ).all()
    kept = {order for order, kind, lives in rows if kind == ReservationType.COMMITTED and lives}
    missing = {
        order for order, kind, lives in rows if kind != ReservationType.COMMITTED or not lives
    }
    return kept - missing


def _of_order(session: Session, order_id: int, which: ColumnElement[bool]) -> Sequence[Reservation]:
    query = _select((reservations.c.order_id == order_id) & which)
    return [_reservation(row) for row in session.execute(query)]


def _select(which: ColumnElement[bool]) -> Any:
    c = reservations.c
    return (
        select(c.id, c.sku, c.quantity, c.type, c.deleted_at)
        .where(which)
        .order_by(c.id)
        .with_for_update()
    )


def _reservation(row: Any) -> Reservation:
    return Reservation(row.id, row.sku, row.quantity, row.type, row.deleted_at is None)


def _not_shipped() -> ColumnElement[bool]:
    return reservations.c.type != ReservationType.SHIPPED


def _give_back(session: Session, found: Sequence[Reservation], at: datetime) -> None:
    release_stock(session, _sums(found))
    _write(session, found, {"deleted_at": at})


def _write(session: Session, found: Sequence[Reservation], values: Mapping[str, Any]) -> None:
    ids = [one.id for one in found]
    if ids:
        session.execute(update(reservations).where(reservations.c.id.in_(ids)).values(**values))


def _sums(found: Any) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for one in found:
        sums[one.sku] += one.quantity
    return dict(sums)
