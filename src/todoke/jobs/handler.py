"""A job as the worker needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from todoke.errors import InvalidArgument
from todoke.jobs.argument import NOTHING, Shape
from todoke.jobs.job import ABSENT, Job
from todoke.limits import Limit
from todoke.work.handler import Handler, place
from todoke.work.strand import stream_name

Executor: TypeAlias = Literal["thread", "process"]
LONGEST_KEY = 255


@dataclass(frozen=True, eq=False)
class JobHandler(Handler):
    """Takes jobs of its name, and of names it had before."""

    job: Job[Any, Any] = field(kw_only=True)
    argument: Shape | None = field(kw_only=True)
    result: Shape = field(kw_only=True)
    executor: Executor = field(default="thread", kw_only=True)
    aliases: tuple[str, ...] = field(default=(), kw_only=True)
    priority: int = field(default=0, kw_only=True)
    keep_successes: int = field(default=100, kw_only=True)
    keeps_rows: bool = field(default=False, kw_only=True)
    """Each success has a row of its own: somebody wants the last so many, however old."""
    enabled: bool = field(default=True, kw_only=True)
    run_parameter: str | None = field(default=None, kw_only=True)

    @property
    def where(self) -> str:
        return f"job {self.name!r} ({place(self.job.function)})"

    @property
    def ends_itself(self) -> bool:
        return self.is_async or self.executor == "process"

    def body(self, argument: Any, max_bytes: int) -> str:
        """The argument as text; refuses one where none is taken, and none where one is."""
        if self.argument is None:
            if argument is not ABSENT and argument is not None:
                raise InvalidArgument(self.name, "it takes no argument")
            return NOTHING
        if argument is ABSENT:
            raise InvalidArgument(self.name, "it takes an argument")
        return self.argument.dump(argument, self.name, max_bytes)

    def stream_in(self, queue: str | None) -> str:
        """Where its rows lie; a queue may be asked for instead of its own."""
        if queue is None:
            return self.stream
        return stream_name(self.context, queue, self.bounds.destination if self.bounds else None)

    def key_of(self, argument: Any) -> str | None:
        """Which key a limit counts it under; None without such a limit."""
        limit = self.bounds.per_key if self.bounds else None
        return None if limit is None else _key(limit, argument, self.name)


def _key(limit: Limit, argument: Any, job: str) -> str:
    per: Any = limit.per
    if callable(per):
        value = per(argument)
    elif isinstance(argument, dict):
        value = argument.get(per)
    else:
        value = getattr(argument, per, None)
    if value is None or value == "":
        raise InvalidArgument(job, f"its limit counts per {per!r}, which is empty")
    key = str(value)
    if len(key) > LONGEST_KEY or "\0" in key:
        raise InvalidArgument(job, f"{per!r} is longer than {LONGEST_KEY} characters, or no text")
    return key
