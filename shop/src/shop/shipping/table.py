"""Where shipments and their files are kept."""

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
)

from shop.database import Id, UtcDateTime, metadata
from shop.shipping.model import FileStatus, ShipmentStatus, ShipmentType

shipment_files = Table(
    "shipment_files",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("status", Enum(FileStatus, native_enum=False, length=20), nullable=False),
    Column("shipments", Integer, nullable=False),
    Column("encoding", String(20), nullable=False),
    Column("size", BigInteger),
    Column("sha256", String(64)),
    Column("created_at", UtcDateTime, nullable=False),
    Column("exported_at", UtcDateTime),
    Column("uploaded_at", UtcDateTime),
    Column("transferred_at", UtcDateTime),
    Index("ix_shipment_files_status", "status", "id"),
)

shipments = Table(
    "shipments",
    metadata,
    Column("id", Id, primary_key=True),
    Column("order_id", Id, nullable=False),
    Column("order_number", String(40), nullable=False),
    Column("shipment_type", Enum(ShipmentType, native_enum=False, length=20), nullable=False),
    Column("status", Enum(ShipmentStatus, native_enum=False, length=20), nullable=False),
    Column("recipient_name", String(100), nullable=False),
    Column("postal_code", String(20), nullable=False),
    Column("address", String(300), nullable=False),
    Column("phone", String(20), nullable=False),
    Column("file_id", Id, ForeignKey("shipment_files.id"), index=True),
    Column("created_at", UtcDateTime, nullable=False),
    Index("uq_shipments_order_id", "order_id", "shipment_type", unique=True),
    Index("ix_shipments_status", "status", "file_id", "id"),
)

shipment_items = Table(
    "shipment_items",
    metadata,
    Column("id", Id, primary_key=True),
    Column("shipment_id", Id, ForeignKey("shipments.id"), nullable=False, index=True),
    Column("sku", String(40), nullable=False),
    Column("name", String(200), nullable=False),
    Column("quantity", Integer, CheckConstraint("quantity >= 1"), nullable=False),
)
