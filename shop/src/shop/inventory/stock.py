"""How much there is. Every verb works in the caller's transaction."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from shop.database import put
from shop.inventory.model import MOST_STOCK, OutOfStock, Stock, StockNotFound, TooMuchStock
from shop.inventory.table import stock


def receive_stock(session: Session, sku: str, quantity: int) -> Stock:
    """So many more of it have come in; TooMuchStock where that cannot be counted."""
    first = {"sku": sku, "total": quantity, "free": quantity, "reserved": 0, "shipped": 0}
    more = {"total": stock.c.total + quantity, "free": stock.c.free + quantity}
    put(session, stock, first, more)
    found = find_stock(session, sku)
    if found.total > MOST_STOCK:
        raise TooMuchStock(sku)
    return found


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
        while not _change(session, sku, less, at_least=quantity):
            # Some may have come back since; nobody is refused what is there.
            if (free := find_stock(session, sku).free) < quantity:
                raise OutOfStock(sku, quantity, free)


def release_stock(session: Session, kept: Mapping[str, int]) -> None:
    """What was reserved is free again."""
    for sku, quantity in _in_turn(kept.items()):
        back = {"free": stock.c.free + quantity, "reserved": stock.c.reserved - quantity}
        _must_change(session, sku, back)


def ship_stock(session: Session, kept: Mapping[str, int]) -> None:
    """What was reserved has left the warehouse."""
    for sku, quantity in _in_turn(kept.items()):
        out = {"shipped": stock.c.shipped + quantity, "reserved": stock.c.reserved - quantity}
        _must_change(session, sku, out)


def _in_turn(items: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Everybody takes rows in the same order, so nobody waits for each other."""
    return sorted(items)


def _change(session: Session, sku: str, values: Mapping[str, object], at_least: int = 0) -> bool:
    """Check and change are one statement: there is no moment between them."""
    done = session.execute(
        update(stock).where(stock.c.sku == sku, stock.c.free >= at_least).values(**values)
    )
    return bool(done.rowcount)  # type: ignore[attr-defined]


def _must_change(session: Session, sku: str, values: Mapping[str, object]) -> None:
    if not _change(session, sku, values):
        raise StockNotFound(sku)
