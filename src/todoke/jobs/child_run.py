"""The Run of a job in a child process: what it tells goes to its worker."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sized
from typing import Any, TypeVar, overload

from todoke.errors import InvalidOption
from todoke.jobs.run import MOST_METRICS
from todoke.jobs.wire import Task

T = TypeVar("T")

_LONGEST_LINE = 20_000
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class ChildRun:
    """One attempt at one job; once it is over, it tells nothing more."""

    def __init__(
        self,
        task: Task,
        log_level: int,
        send: Callable[[Mapping[str, Any]], None],
        check: Callable[[], None],
    ) -> None:
        self.number: int = task.number
        self.name: str = task.job_name
        self.job_id: str = task.job_id
        self.idempotency_key: str = task.idempotency_key
        self._send, self._check = send, check
        self._sending, self._is_over = threading.Lock(), False
        self._progress: tuple[int, int | None] = (0, None)
        self._progress_sent: tuple[int, int | None] = (0, None)
        self._metrics: set[str] = set()
        # No logger of the process's tree: levels and handlers are the worker's.
        self._log = logging.Logger(task.job_name, log_level)
        self._log.addHandler(_Sender(self._tell))

    @property
    def log(self) -> logging.Logger:
        """A logger whose lines the worker logs."""
        return self._log

    def check(self) -> None:
        """Raises when this attempt was given up; call it in long loops."""
        self._check()

    def progress(self, done: int, total: int | None = None) -> None:
        """So far so many are processed, of so many; sent from time to time, and at the end."""
        self._progress = (done, total)

    def metric(self, name: str, value: float) -> None:
        """A figure of this run, kept in its history."""
        if name not in self._metrics and len(self._metrics) >= MOST_METRICS:
            raise InvalidOption("run.metric", name, f"at most {MOST_METRICS} of one run are kept.")
        self._metrics.add(name)
        self._tell({"kind": "metric", "name": name, "value": value})

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
        for item in items:
            self.check()
            yield item
            self.progress(self._progress[0] + 1, total)

    async def _track_async(self, items: AsyncIterator[T], total: int | None) -> AsyncIterator[T]:
        async for item in items:
            self.check()
            yield item
            self.progress(self._progress[0] + 1, total)

    def send_progress(self) -> None:
        """Send how far it is, if that is news."""
        with self._sending:
            done, total = latest = self._progress
            if latest != self._progress_sent and not self._is_over:
                self._progress_sent = latest
                self._send({"kind": "progress", "done": done, "total": total})

    def end(self) -> None:
        """Nothing that a thread of this job still tells may be taken for the next one's."""
        self.send_progress()
        with self._sending:
            self._is_over = True

    def _tell(self, message: Mapping[str, Any]) -> None:
        with self._sending:
            if not self._is_over:
                self._send(message)


class _Sender(logging.Handler):
    def __init__(self, tell: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._tell(
                {
                    "kind": "line",
                    "level": record.levelno,
                    "text": self.format(record)[:_LONGEST_LINE],
                    "fields": _given_along(record),
                }
            )
        except Exception:
            self.handleError(record)


def _given_along(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in vars(record).items() if name not in _USUAL}
    fields: dict[str, Any] = json.loads(json.dumps(given, default=str))
    return fields
