"""Orders, their lines, and the operation log."""

import sqlalchemy as sa
from alembic import op

from shop.migrations.steps import ID, MOMENT, create_index, create_table

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table(
        "orders",
        sa.Column("id", ID, primary_key=True),
        sa.Column("number", sa.String(40), nullable=False, unique=True),
        sa.Column("customer_email", sa.String(254)),
        sa.Column("status", sa.String(30), nullable=False),
        sa.Column("placed_at", MOMENT, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False, server_default="0"),
    )
    create_table(
        "order_lines",
        sa.Column("id", ID, primary_key=True),
        sa.Column("order_id", ID, sa.ForeignKey("orders.id"), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("quantity", sa.Integer, nullable=False),
        sa.Column("unit_price", sa.BigInteger, nullable=False),
        sa.CheckConstraint("quantity >= 1"),
        sa.CheckConstraint("unit_price >= 0"),
    )
    create_table(
        "operation_history",
        sa.Column("id", ID, primary_key=True),
        sa.Column("event_id", sa.Uuid, nullable=False, unique=True),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("operation_type", sa.String(100), nullable=False),
        sa.Column("performed_by", sa.String(100), nullable=False),
        sa.Column("request_path", sa.String(500), nullable=False),
        sa.Column("details", sa.JSON, nullable=False),
        sa.Column("performed_at", MOMENT, nullable=False),
    )
    for table, column in (
        ("orders", "status"),
        ("order_lines", "order_id"),
        ("operation_history", "subject"),
    ):
        create_index(f"ix_{table}_{column}", table, [column])


def downgrade() -> None:
    op.drop_table("operation_history")
    op.drop_table("order_lines")
    op.drop_table("orders")
