"""Stock and reservations."""

import sqlalchemy as sa
from alembic import op

from shop.migrations.steps import ID, MOMENT, create_index, create_table

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table(
        "stock",
        sa.Column("sku", sa.String(40), primary_key=True),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("free", sa.Integer, nullable=False),
        sa.Column("reserved", sa.Integer, nullable=False),
        sa.Column("shipped", sa.Integer, nullable=False),
        sa.CheckConstraint("free >= 0 AND reserved >= 0 AND shipped >= 0"),
        sa.CheckConstraint("total = free + reserved + shipped"),
    )
    create_table(
        "stock_reservations",
        sa.Column("id", ID, primary_key=True),
        sa.Column("order_id", ID, nullable=False),
        sa.Column("sku", sa.String(40), nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("expires_at", MOMENT),
        sa.Column("deleted_at", MOMENT),
        sa.CheckConstraint("quantity >= 1"),
    )
    table = "stock_reservations"
    create_index("uq_stock_reservations_order_id", table, ["order_id", "sku"], unique=True)
    create_index("ix_stock_reservations_type", table, ["type", "deleted_at", "expires_at"])


def downgrade() -> None:
    op.drop_table("stock_reservations")
    op.drop_table("stock")
