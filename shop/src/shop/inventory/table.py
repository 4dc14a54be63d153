"""Where stock and reservations are kept."""

from sqlalchemy import CheckConstraint, Column, Enum, Index, Integer, String, Table

from shop.database import Id, UtcDateTime, metadata
from shop.inventory.model import ReservationType

stock = Table(
    "stock",
    metadata,
    Column("sku", String(40), primary_key=True),
    Column("total", Integer, nullable=False),
    Column("free", Integer, nullable=False),
    Column("reserved", Integer, nullable=False),
    Column("shipped", Integer, nullable=False),
    CheckConstraint("free >= 0 AND reserved >= 0 AND shipped >= 0"),
    CheckConstraint("total = free + reserved + shipped"),
)

stock_reservations = Table(
    "stock_reservations",
    metadata,
    Column("id", Id, primary_key=True),
    Column("order_id", Id, nullable=False),
    Column("sku", String(40), nullable=False),
    Column("quantity", Integer, CheckConstraint("quantity >= 1"), nullable=False),
    Column("type", Enum(ReservationType, native_enum=False, length=20), nullable=False),
    Column("expires_at", UtcDateTime),
    Column("deleted_at", UtcDateTime),
    Index("uq_stock_reservations_order_id", "order_id", "sku", unique=True),
    Index("ix_stock_reservations_type", "type", "deleted_at", "expires_at"),
)
