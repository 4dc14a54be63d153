from sqlalchemy import insert
from sqlalchemy.orm import Session

from shop.audit.context import audit
from shop.audit.messages import OperationPerformed
from shop.audit.table import operation_history
from todoke import Attempt


@audit.on(OperationPerformed, name="operation-log")
def record(event: OperationPerformed, session: Session, attempt: Attempt) -> None:
    """Write the operation down; entry and settlement are one commit."""
    session.execute(
        insert(operation_history).values(event_id=attempt.message.id, **event.model_dump())
    )
