"""Where products and orders are kept, and how the model maps to it."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Enum,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    text,
)
from sqlalchemy.orm import registry, relationship

from shop.database import Id, UtcDateTime, metadata
from shop.ordering.model import CancelReason, Order, OrderLine, OrderStatus, Product

products = Table(
    "products",
    metadata,
    Column("sku", String(40), primary_key=True),
    Column("name", String(200), nullable=False),
    Column("unit_price", BigInteger, CheckConstraint("unit_price >= 0"), nullable=False),
)

orders = Table(
    "orders",
    metadata,
    Column("id", Id, primary_key=True),
    Column("number", String(40), nullable=False, unique=True),
    Column("customer_email", String(254)),
    Column("language", String(2), nullable=False, server_default="ja"),
    Column("status", Enum(OrderStatus, native_enum=False, length=30), nullable=False),
    Column("cancel_reason", Enum(CancelReason, native_enum=False, length=30)),
    Column("recipient_name", String(100), nullable=False, server_default=text("''")),
    Column("postal_code", String(20), nullable=False, server_default=text("''")),
    Column("address", String(300), nullable=False, server_default=text("''")),
    Column("phone", String(20), nullable=False, server_default=text("''")),
    Column("placed_at", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False, server_default="0"),
    # In the order in which the nightly job walks through those that are confirmed.
    Index("ix_orders_status", "status", "id"),
)

order_lines = Table(
    "order_lines",
    metadata,
    Column("id", Id, primary_key=True),
    Column("order_id", Id, ForeignKey("orders.id"), nullable=False, index=True),
    Column("sku", String(40), nullable=False, server_default=text("''")),
    Column("name", String(200), nullable=False),
    Column("quantity", Integer, CheckConstraint("quantity >= 1"), nullable=False),
    Column("unit_price", BigInteger, CheckConstraint("unit_price >= 0"), nullable=False),
)

_mapping = registry(metadata=metadata)
_mapping.map_imperatively(Product, products)
_mapping.map_imperatively(OrderLine, order_lines)
_mapping.map_imperatively(
    Order,
    orders,
    exclude_properties=["revision"],
    properties={
        "lines": relationship(OrderLine, order_by=order_lines.c.id, lazy="selectin"),
    },
)
