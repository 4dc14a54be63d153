"""How much there is. Every verb works in the caller's transaction."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from shop.inventory.model import OutOfStock, Stock
from shop.inventory.table import stock


def receive_stock(session: Session, sku: str, quantity: int) -> Stock:
    """So many more of it have come in."""
    more = {"total": stock.c.total + quantity, "free": stock.c.free + quantity}
    if not _change(session, sku, more) and not _begin(session, sku, quantity):
        _change(session, sku, more)
    return find_stock(session, sku)


def find_stock(session: Session, sku: str) -> Stock:
    """Nothing of what never came in."""
    row = session.execute(select(stock).where(stock.c.sku == sku)).first()
    return Stock(*row) if row else Stock(sku, 0, 0, 0, 0)


def list_stock(session: Session, limit: int, after: str | None = None) -> Sequence[Stock]:
    query = select(stock).order_by(stock.c.sku).limit(limit)
    if after is not None:
        query = query.where(stock.c.sku > after)
    return [Stock(*row) for row in session.execute(query)]


def reserve_stock(session: Session, wanted: Mapping[str, int]) -> None:
    """All of it, or OutOfStock; whoever wants the same waits for this transaction's end."""
    for sku, quantity in _in_turn(wanted.items()):
        less = {"free": stock.c.free - quantity, "reserved": stock.c.reserved + quantity}
        if not _change(session, sku, less, at_least=quantity):
            raise OutOfStock(sku, quantity, find_stock(session, sku).free)


def release_stock(session: Session, kept: Mapping[str, int]) -> None:
    """What was reserved is free again."""
    for sku, quantity in _in_turn(kept.items()):
        back = {"free": stock.c.free + quantity, "reserved": stock.c.reserved - quantity}
        _change(session, sku, back)


def ship_stock(session: Session, kept: Mapping[str, int]) -> None:
    """What was reserved has left the warehouse."""
    for sku, quantity in _in_turn(kept.items()):
        out = {"shipped": stock.c.shipped + quantity, "reserved": stock.c.reserved - quantity}
        _change(session, sku, out)


def _begin(session: Session, sku: str, quantity: int) -> bool:
    """The first of it; False where somebody else's came at the same time."""
    first = {"total": quantity, "free": quantity, "reserved": 0, "shipped": 0}
    try:
        with session.begin_nested():
            session.execute(insert(stock).values(sku=sku, **first))
    except IntegrityError:
        return False
    return True


def _in_turn(items: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Everybody takes rows in the same order, so nobody waits for each other."""
    return sorted(items)


def _change(session: Session, sku: str, values: Mapping[str, object], at_least: int = 0) -> bool:
    """Check and change are one statement: there is no moment between them."""
    done = session.execute(
        update(stock).where(stock.c.sku == sku, stock.c.free >= at_least).values(**values)
    )
    return bool(done.rowcount)  # type: ignore[attr-defined]
