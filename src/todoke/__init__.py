"""todoke: what you commit, arrives."""

from todoke.app import Todoke
from todoke.context import Context
from todoke.errors import BusinessError, PermanentError, TodokeError, TransientError
from todoke.jobs.job import Job, batch, chain
from todoke.jobs.run import Run
from todoke.jobs.unique import Unique
from todoke.limits import Breaker, Limit, Rate
from todoke.message import Event, Key, Message, Personal
from todoke.outcome import Done, Outcome, Reject, Retry, Skip, Snooze
from todoke.retry import Backoff
from todoke.settings import Settings
from todoke.work.attempt import Attempt

__all__ = [
    "Attempt",
    "Backoff",
    "Breaker",
    "BusinessError",
    "Context",
    "Done",
    "Event",
    "Job",
    "Key",
    "Limit",
    "Message",
    "Outcome",
    "PermanentError",
    "Personal",
    "Rate",
    "Reject",
    "Retry",
    "Run",
    "Settings",
    "Skip",
    "Snooze",
    "Todoke",
    "TodokeError",
    "TransientError",
    "Unique",
    "batch",
    "chain",
]
