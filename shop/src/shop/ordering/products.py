"""What is sold, and at which price. Every verb works in the caller's transaction."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from shop.database import put
from shop.ordering.model import Product
from shop.ordering.table import products


class ProductNotFound(LookupError):
    def __init__(self, sku: str) -> None:
        self.sku = sku
        super().__init__(f"there is no product {sku}")


def put_product(session: Session, sku: str, name: str, unit_price: int) -> Product:
    """Offer it, or offer it at another price; orders that were placed keep theirs."""
    offer = {"name": name, "unit_price": unit_price}
    put(session, products, {"sku": sku, **offer}, offer)
    return session.get_one(Product, sku, populate_existing=True)


def find_product(session: Session, sku: str) -> Product:
    product = session.get(Product, sku)
    if product is None:
        raise ProductNotFound(sku)
    return product


def list_products(session: Session, limit: int, after: str | None = None) -> Sequence[Product]:
    query = select(Product).order_by(products.c.sku).limit(limit)
    if after is not None:
        query = query.where(products.c.sku > after)
    return session.scalars(query).all()
