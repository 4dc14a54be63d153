from sqlalchemy import JSON, Column, String, Table, Uuid

from shop.database import Id, UtcDateTime, metadata

operation_history = Table(
    "operation_history",
    metadata,
    Column("id", Id, primary_key=True),
    Column("event_id", Uuid, nullable=False, unique=True),
    Column("subject", String(255), nullable=False, index=True),
    Column("operation_type", String(100), nullable=False),
    Column("performed_by", String(100), nullable=False),
    Column("request_path", String(500), nullable=False),
    Column("details", JSON, nullable=False),
    Column("performed_at", UtcDateTime, nullable=False),
)
