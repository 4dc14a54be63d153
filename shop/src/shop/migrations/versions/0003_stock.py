"""Stock and reservations."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_Id = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_Moment = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "stock",
        sa.Column("sku", sa.String(40), primary_key=True),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("free", sa.Integer, nullable=False),
        sa.Column("reserved", sa.Integer, nullable=False),
        sa.Column("shipped", sa.Integer, nullable=False),
        sa.CheckConstraint("free >= 0 AND reserved >= 0 AND shipped >= 0"),
        sa.CheckConstraint("total = free + reserved + shipped"),
    )
    op.create_table(
        "stock_reservations",
        sa.Column("id", _Id, primary_key=True),
        sa.Column("order_id", _Id, nullable=False),
        sa.Column("sku", sa.String(40), nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("expires_at", _Moment),
        sa.Column("deleted_at", _Moment),
        sa.CheckConstraint("quantity >= 1"),
    )
    table = "stock_reservations"
    op.create_index("uq_stock_reservations_order_id", table, ["order_id", "sku"], unique=True)
    op.create_index("ix_stock_reservations_type", table, ["type", "deleted_at", "expires_at"])


def downgrade() -> None:
    op.drop_table("stock_reservations")
    op.drop_table("stock")
