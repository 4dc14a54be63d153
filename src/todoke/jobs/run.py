"""What the worker tells a job about this run, and what the job tells of itself."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, MutableMapping, Sized
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload
from uuid import UUID

from todoke.errors import InvalidOption
from todoke.telemetry import masked
from todoke.work.attempt import Attempt

if TYPE_CHECKING:
    from todoke.jobs.chunks import Chunks, Fetch, FetchAsync, Left, LeftAsync
    from todoke.jobs.job import Call

T = TypeVar("T")

MOST_LINES, LONGEST_LINE, MOST_METRICS = 200, 1000, 50
"""What is kept of a run's log, its last lines; and of its figures."""


@dataclass(frozen=True, slots=True)
class Tick:
    """The due time that a run is for."""

    due: datetime
    late_by: timedelta
    missed: bool
    """It was caught up: nobody was there when it was due."""


@dataclass(slots=True)
class Telling:
    """What a run has told so far; other threads read it."""

    done: int | None = None
    total: int | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    changes: int = 0

    def progress(self, done: int, total: int | None) -> None:
        self.done, self.total = done, total
        self.changes += 1

    def metric(self, name: str, value: float) -> None:
        if name not in self.metrics and len(self.metrics) >= MOST_METRICS:
            raise InvalidOption("run.metric", name, f"at most {MOST_METRICS} of one run are kept.")
        self.metrics[name[:100]] = value
        self.changes += 1

    def line(self, text: str) -> None:
        self.lines.append(masked(text[:LONGEST_LINE]))
        self.changes += 1


@dataclass(slots=True)
class Run(Attempt):
    """One attempt at one job; asked for by annotating a parameter with it."""

    id: UUID = field(kw_only=True)
    tick: Tick | None = field(default=None, kw_only=True)
    told: Telling = field(default_factory=Telling, kw_only=True, repr=False)
    loops: list[Any] = field(default_factory=list, kw_only=True, repr=False)
    """Loops over chunks that were begun."""
    following: list[Any] = field(default_factory=list, kw_only=True, repr=False)
    """What is enqueued with its result."""
    _chunks: Callable[..., Any] = field(default=lambda *_: None, kw_only=True, repr=False)
    _follower: Callable[[Any], Any] | None = field(default=None, kw_only=True, repr=False)

    @overload
    def track(self, items: Iterable[T], *, total: int | None = None) -> Iterator[T]: ...
    @overload
    def track(self, items: AsyncIterator[T], *, total: int | None = None) -> AsyncIterator[T]: ...
    def track(self, items: Any, *, total: int | None = None) -> Any:
        """Go through items, counting them as processed; ends early when the run is cancelled."""
        known = len(items) if total is None and isinstance(items, Sized) else total
        if isinstance(items, AsyncIterator):
            return self._track_async(items, known)
        return self._track(items, known)

    def _track(self, items: Iterable[T], total: int | None) -> Iterator[T]:
        done = self.told.done or 0
        for item in items:
            self.check()
            yield item
            done += 1
            self.told.progress(done, total)

    async def _track_async(self, items: AsyncIterator[T], total: int | None) -> AsyncIterator[T]:
        done = self.told.done or 0
        async for item in items:
            self.check()
            yield item
            done += 1
            self.told.progress(done, total)

    def progress(self, done: int, total: int | None = None) -> None:
        """So far so many are processed, of so many."""
        self.told.progress(done, total)

    def metric(self, name: str, value: float) -> None:
        """A figure of this run, kept in its history."""
        self.told.metric(name, value)

    @overload
    def chunks(
        self,
        fetch: Fetch[T],
        *,
        cursor: Callable[[T], object],
        size: int = 500,
        name: str = "",
        left: Left | None = None,
    ) -> Chunks[T]: ...
    @overload
    def chunks(
        self,
        fetch: FetchAsync[T],
        *,
        cursor: Callable[[T], object],
        size: int = 500,
        name: str = "",
        left: LeftAsync | None = None,
    ) -> Chunks[T]: ...
    def chunks(
        self,
        fetch: Any,
        *,
        cursor: Callable[[Any], object],
        size: int = 500,
        name: str = "",
        left: Any = None,
    ) -> Chunks[Any]:
        """Large work in pieces, each its own transaction; a later run goes on behind the last.

        `fetch(session, after, size)` answers rows behind the cursor `after`, which is None at
        first. `async for` gives AsyncSessions. Several loops in one job need a name each.
        `left(session, after)` answers how many rows there are; then progress has a total.
        """
        made: Chunks[Any] = self._chunks(self, fetch, cursor, size, name, left)
        return made

    def then(self, call: Call[Any], /) -> None:
        """Enqueue this job, too, in the transaction that records this one's success.

        A job with a session enqueues in that instead: it is the same commit.
        """
        if self._follower is None:
            raise InvalidOption(
                "run.then",
                self.name,
                "enqueue in the job's session; a child process cannot enqueue at all.",
            )
        self.following.append(self._follower(call))
        self.told.changes += 1

    def end(self, *, well: bool) -> None:
        """The function has returned: a chunk that it left open is committed, or rolled back."""
        for loop in self.loops:
            loop.end(commit=well)

    async def end_async(self, *, well: bool) -> None:
        for loop in self.loops:
            await loop.end_async(commit=well)

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose last lines are kept with the run."""
        return _Kept(Attempt.log.__get__(self), self.told.line)


class _Kept(logging.LoggerAdapter[Any]):
    """Passes lines on, and keeps them."""

    def __init__(self, inner: logging.LoggerAdapter[logging.Logger], keep: Callable[[str], None]):
        super().__init__(inner, {})
        self._keep = keep

    def log(self, level: int, msg: object, *args: object, **options: Any) -> None:
        if self.isEnabledFor(level) or level >= logging.INFO:
            text = str(msg) % args if args else str(msg)
            self._keep(f"{logging.getLevelName(level)} {text}")
        self.logger.log(level, msg, *args, **options)

    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs
