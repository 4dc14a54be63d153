"""What operators touch: records and pages behind `app.events`, `app.dead_letters`, `app.doctor`."""

from todoke.dead_letters.followers import Parked
from todoke.dead_letters.letter import DeadLetter, Operation, Page, Selection
from todoke.finding import Finding
from todoke.outbox.read import EventRecord, Status
from todoke.work.destination_table import DestinationRecord

__all__ = [
    "DeadLetter",
    "DestinationRecord",
    "EventRecord",
    "Finding",
    "Operation",
    "Page",
    "Parked",
    "Selection",
    "Status",
]
