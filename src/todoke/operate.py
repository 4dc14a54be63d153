"""What `app.events`, `.jobs`, `.ledger`, `.dead_letters`, `.archive` and others answer."""

from todoke.dead_letters.followers import Parked
from todoke.dead_letters.letter import DeadLetter, Operation, Page, Selection
from todoke.finding import Finding
from todoke.jobs.pauses import PauseRecord
from todoke.jobs.records import JobCounts, JobOperation, JobRecord, RunRecord
from todoke.jobs.schedules import ScheduleRecord
from todoke.ledger.entry import Accepted, Conflict, InProgress, LedgerEntry, Replay
from todoke.metrics import Age, Count
from todoke.outbox.read import EventRecord, Status
from todoke.retention.file import ArchiveFile
from todoke.retention.restore import Restored
from todoke.work.destination_table import DestinationRecord

__all__ = [
    "Accepted",
    "Age",
    "ArchiveFile",
    "Conflict",
    "Count",
    "DeadLetter",
    "DestinationRecord",
    "EventRecord",
    "Finding",
    "InProgress",
    "JobCounts",
    "JobOperation",
    "JobRecord",
    "LedgerEntry",
    "Operation",
    "Page",
    "Parked",
    "PauseRecord",
    "Replay",
    "Restored",
    "RunRecord",
    "ScheduleRecord",
    "Selection",
    "Status",
]
