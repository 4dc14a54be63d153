"""What operators touch: records and pages behind `app.events` and `app.dead_letters`."""

from todoke.dead_letters.letter import DeadLetter, Operation, Page, Selection
from todoke.outbox.read import EventRecord, Status

__all__ = ["DeadLetter", "EventRecord", "Operation", "Page", "Selection", "Status"]
