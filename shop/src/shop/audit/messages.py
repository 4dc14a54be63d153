"""What every part of the shop tells the operation log."""

from datetime import datetime

from todoke import Event, Key


class OperationPerformed(
    Event, type="OPERATION_PERFORMED", context="audit", aggregate="operation", ordered=False
):
    """Somebody changed something. `details` must not hold personal data: the log is kept long."""

    subject: Key[str]
    operation_type: str
    performed_by: str
    request_path: str
    details: dict[str, str]
    performed_at: datetime
