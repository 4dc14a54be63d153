"""What signatures mention and people rarely write."""

from todoke.duration import Duration
from todoke.errors import ErrorClass
from todoke.jobs.chunks import Chunks
from todoke.jobs.handler import Executor
from todoke.jobs.job import BatchRef, Call, JobRef, Plan
from todoke.jobs.run import Tick
from todoke.jobs.unique import Repeat
from todoke.work.handler import Answer, CallNext, Middleware, OnCrash

__all__ = [
    "Answer",
    "BatchRef",
    "Call",
    "CallNext",
    "Chunks",
    "Duration",
    "ErrorClass",
    "Executor",
    "JobRef",
    "Middleware",
    "OnCrash",
    "Plan",
    "Repeat",
    "Tick",
]
