"""Where orders are kept, and how the model maps to it."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Enum,
    ForeignKey,
    Integer,
    String,
    Table,
)
from sqlalchemy.orm import registry, relationship

from shop.database import UtcDateTime, metadata
from shop.ordering.model import Order, OrderLine, OrderStatus

# SQLite numbers rows by itself only where the type is exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")

orders = Table(
    "orders",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("number", String(40), nullable=False, unique=True),
    Column("customer_email", String(254)),
    Column("status", Enum(OrderStatus, native_enum=False, length=30), nullable=False, index=True),
    Column("placed_at", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False, server_default="0"),
)

order_lines = Table(
    "order_lines",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("order_id", _Id, ForeignKey("orders.id"), nullable=False, index=True),
    Column("name", String(200), nullable=False),
    Column("quantity", Integer, CheckConstraint("quantity >= 1"), nullable=False),
    Column("unit_price", BigInteger, CheckConstraint("unit_price >= 0"), nullable=False),
)

_mapping = registry(metadata=metadata)
_mapping.map_imperatively(OrderLine, order_lines)
_mapping.map_imperatively(
    Order,
    orders,
    exclude_properties=["revision"],
    properties={
        "lines": relationship(OrderLine, order_by=order_lines.c.id, lazy="selectin"),
    },
)
