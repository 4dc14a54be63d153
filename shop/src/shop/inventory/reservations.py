"""Who may have what. Every verb works in the caller's transaction.

Everybody locks reservations before stock: reservations by their ids, stock by its numbers, both in
that order. So nobody waits for whom he keeps waiting.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, insert, literal, select, update
from sqlalchemy.orm import Session

from shop.database import UtcDateTime
from shop.inventory.model import NotReserved, ReservationType
from shop.inventory.stock import release_stock, reserve_stock, ship_stock
from shop.inventory.table import stock_reservations as reservations

_LIVING = reservations.c.deleted_at.is_(None)
_KEPT = (ReservationType.TENTATIVE, ReservationType.COMMITTED)


class Reservation(NamedTuple):
    id: int
    sku: str
    quantity: int
    type: ReservationType
    is_living: bool

    @property
    def is_tentative(self) -> bool:
        return self.type is ReservationType.TENTATIVE and self.is_living

    @property
    def is_committed(self) -> bool:
        return self.type is ReservationType.COMMITTED and self.is_living


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


def commit(session: Session, order_id: int) -> None:
    """Keep for good what is kept for an order; what has expired is taken anew, or OutOfStock.

    Nothing is kept for an order that was cancelled, whenever its confirmation is heard of.
    """
    found = _of_order(session, order_id)
    if not found:
        raise NotReserved(order_id)
    tentative = [one for one in found if one.type is ReservationType.TENTATIVE]
    reserve_stock(session, _sums(one for one in tentative if not one.is_living))
    kept = {"type": ReservationType.COMMITTED, "expires_at": None, "deleted_at": None}
    _write(session, tentative, kept)


def release(session: Session, order_id: int, at: datetime) -> None:
    """An order is cancelled: nothing is kept for it any more, and never again."""
    found = [one for one in _of_order(session, order_id) if one.type in _KEPT]
    release_stock(session, _sums(one for one in found if one.is_living))
    given_up_at = func.coalesce(reservations.c.deleted_at, literal(at, UtcDateTime()))
    _write(session, found, {"type": ReservationType.CANCELLED, "deleted_at": given_up_at})


def ship(session: Session, order_id: int) -> None:
    """An order's parcel has left."""
    found = _of_order(session, order_id)
    here = [one for one in found if one.type is not ReservationType.SHIPPED]
    if not found or not all(one.is_committed for one in here):
        raise NotReserved(order_id)
    ship_stock(session, _sums(here))
    _write(session, here, {"type": ReservationType.SHIPPED})


def expired(session: Session, after: int | None, size: int, now: datetime) -> Sequence[Reservation]:
    """Tentative ones whose time is over, behind this id; nobody else's until the commit."""
    c, found = reservations.c, list[Reservation]()
    over = (c.type == ReservationType.TENTATIVE) & _LIVING & (c.expires_at <= now)
    while not found:
        query = select(c.id).where(over, c.id > (after or 0)).order_by(c.id).limit(size)
        ids = session.scalars(query).all()
        if not ids:
            break
        # Whoever had some of them first may have kept them, or given them up.
        found = [one for one in _take(session, ids) if one.is_tentative]
        after = ids[-1]
    return found


def release_expired(session: Session, found: Sequence[Reservation], at: datetime) -> None:
    release_stock(session, _sums(found))
    _write(session, found, {"deleted_at": at})


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


def _of_order(session: Session, order_id: int) -> Sequence[Reservation]:
    query = select(reservations.c.id).where(reservations.c.order_id == order_id)
    return _take(session, session.scalars(query).all())


def _take(session: Session, ids: Sequence[int]) -> Sequence[Reservation]:
    """As they are now, and nobody else's until the commit.

    Searched before without locks: MariaDB locks entries of the index by which it searches, and who
    changes a row would wait for its entries while others wait for the row.
    """
    c = reservations.c
    query = select(c.id, c.sku, c.quantity, c.type, c.deleted_at).where(c.id.in_(ids))
    rows = session.execute(query.order_by(c.id).with_for_update())
    return [
        Reservation(row.id, row.sku, row.quantity, row.type, row.deleted_at is None) for row in rows
    ]


def _write(session: Session, found: Sequence[Reservation], values: Mapping[str, Any]) -> None:
    ids = [one.id for one in found]
    if ids:
        session.execute(update(reservations).where(reservations.c.id.in_(ids)).values(**values))


def _sums(found: Iterable[Reservation]) -> dict[str, int]:
    sums: Counter[str] = Counter()
    for one in found:
        sums[one.sku] += one.quantity
    return dict(sums)
