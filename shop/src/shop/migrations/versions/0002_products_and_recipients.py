"""Products; of orders: where they go, in which language, and why they were cancelled."""

import sqlalchemy as sa
from alembic import op

from shop.migrations.steps import add_column, create_index, create_table, drop_index

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_table(
        "products",
        sa.Column("sku", sa.String(40), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("unit_price", sa.BigInteger, nullable=False),
        sa.CheckConstraint("unit_price >= 0"),
    )
    # Orders of before go nowhere: nothing is reserved for them, so they are not shipped.
    for name, length in (("recipient_name", 100), ("postal_code", 20), ("address", 300)):
        _add("orders", name, length)
    _add("orders", "phone", 20)
    _add("orders", "language", 2, "ja")
    add_column("orders", sa.Column("cancel_reason", sa.String(30)))
    _add("order_lines", "sku", 40)
    drop_index("ix_orders_status", "orders")
    create_index("ix_orders_status", "orders", ["status", "id"])


def downgrade() -> None:
    op.drop_index("ix_orders_status", "orders")
    op.create_index("ix_orders_status", "orders", ["status"])
    op.drop_column("order_lines", "sku")
    for name in ("cancel_reason", "language", "phone", "address", "postal_code", "recipient_name"):
        op.drop_column("orders", name)
    op.drop_table("products")


def _add(table: str, name: str, length: int, default: str = "") -> None:
    column = sa.Column(
        name, sa.String(length), nullable=False, server_default=sa.text(f"'{default}'")
    )
    add_column(table, column)
