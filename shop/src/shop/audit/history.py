"""Reading the operation log."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from shop.audit.table import operation_history


@dataclass(frozen=True)
class Operation:
    id: int
    event_id: UUID
    subject: str
    operation_type: str
    performed_by: str
    request_path: str
    details: dict[str, str]
    performed_at: datetime


def latest_operations(
    session: Session, limit: int, before: int | None = None
) -> Sequence[Operation]:
    query = select(operation_history).order_by(operation_history.c.id.desc()).limit(limit)
    if before is not None:
        query = query.where(operation_history.c.id < before)
    return [Operation(**row) for row in session.execute(query).mappings()]
