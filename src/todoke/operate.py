"""What operators touch: answers of `app.events`, `.dead_letters`, `.archive` and `.doctor`."""

from todoke.dead_letters.followers import Parked
from todoke.dead_letters.letter import DeadLetter, Operation, Page, Selection
from todoke.finding import Finding
from todoke.outbox.read import EventRecord, Status
from todoke.retention.file import ArchiveFile
from todoke.retention.restore import Restored
from todoke.work.destination_table import DestinationRecord

__all__ = [
    "ArchiveFile",
    "DeadLetter",
    "DestinationRecord",
    "EventRecord",
    "Finding",
    "Operation",
    "Page",
    "Parked",
    "Restored",
    "Selection",
    "Status",
]
