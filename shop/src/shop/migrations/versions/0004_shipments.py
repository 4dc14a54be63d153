"""Shipments, their items, and the files that tell of them."""

import sqlalchemy as sa
from alembic import op

from shop.migrations.steps import ID, MOMENT, create_index, create_table

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table(
        "shipment_files",
        sa.Column("id", ID, primary_key=True),
        sa.Column("name", sa.String(80), nullable=False, unique=True),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("shipments", sa.Integer, nullable=False),
        sa.Column("encoding", sa.String(20), nullable=False),
        sa.Column("size", sa.BigInteger),
        sa.Column("sha256", sa.String(64)),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("exported_at", MOMENT),
        sa.Column("uploaded_at", MOMENT),
        sa.Column("transferred_at", MOMENT),
    )
    create_index("ix_shipment_files_status", "shipment_files", ["status", "id"])
    create_table(
        "shipments",
        sa.Column("id", ID, primary_key=True),
        sa.Column("order_id", ID, nullable=False),
        sa.Column("order_number", sa.String(40), nullable=False),
        sa.Column("shipment_type", sa.String(20), nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("recipient_name", sa.String(100), nullable=False),
        sa.Column("postal_code", sa.String(20), nullable=False),
        sa.Column("address", sa.String(300), nullable=False),
        sa.Column("phone", sa.String(20), nullable=False),
        sa.Column("file_id", ID, sa.ForeignKey("shipment_files.id")),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    create_index("uq_shipments_order_id", "shipments", ["order_id", "shipment_type"], unique=True)
    create_index("ix_shipments_status", "shipments", ["status", "file_id", "id"])
    create_index("ix_shipments_file_id", "shipments", ["file_id"])
    create_table(
        "shipment_items",
        sa.Column("id", ID, primary_key=True),
        sa.Column("shipment_id", ID, sa.ForeignKey("shipments.id"), nullable=False),
        sa.Column("sku", sa.String(40), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.CheckConstraint("quantity >= 1"),
    )
    create_index("ix_shipment_items_shipment_id", "shipment_items", ["shipment_id"])


def downgrade() -> None:
    op.drop_table("shipment_items")
    op.drop_table("shipments")
    op.drop_table("shipment_files")
