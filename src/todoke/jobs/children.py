"""Child processes of a worker, for jobs that need a processor: warm, supervised, replaceable.

Each runs one attempt at a time. One that dies costs that attempt and nothing else; one whose
attempt is given up is told to end, then killed. None outlives its worker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Literal

from todoke.errors import InvalidOption, TransientError
from todoke.fork import after_fork
from todoke.jobs.address import was_given
from todoke.jobs.child_process import ChildProcess, Lost
from todoke.jobs.report import error_from, outcome_from
from todoke.jobs.wire import TURN, Line, Metric, Nonsense, Progress, Task, Told
from todoke.outcome import Outcome
from todoke.telemetry import log

GRACE = 2.0
"""Seconds that an attempt which is given up has for its `finally` blocks."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one attempt ended; with an outcome, or an error, or neither when it was given up."""

    kind: Literal["answered", "failed", "died", "too_long", "given_up"]
    outcome: Outcome | None = None
    result: str | None = None
    """What was answered, or is in its Done, as JSON text."""
    error: BaseException | None = None
    lineage: tuple[str, ...] = ()
    """The names of the error's class and of all it derives from: a classifier may know one."""
    pid: int | None = None


class _Over(Exception):
    def __init__(self, kind: Literal["too_long", "given_up"]) -> None:
        self.kind: Literal["too_long", "given_up"] = kind


class Children:
    """At most so many processes; started when they are needed, kept until `close`."""

    def __init__(
        self, at_most: int, *, environment: Mapping[str, str] | None = None, grace: float = GRACE
    ) -> None:
        if at_most < 1:
            raise InvalidOption("at_most", at_most, "one process is the least.")
        self._at_most, self._environment, self._grace = at_most, environment, grace
        self._begin()
        after_fork(self, Children._begin_in_fork)

    def run(
        self,
        task: Task,
        *,
        on_told: Callable[[Told], None],
        give_up: Callable[[], bool],
        deadline: float,
    ) -> Ended:
        """One attempt, in whatever thread this is; the deadline is one of `time.monotonic`."""
        _refuse_unknown(task)

        def check() -> None:
            if self._closed or give_up():
                raise _Over("given_up")
            if time.monotonic() >= deadline:
                raise _Over("too_long")

        try:
            while True:
                with self._lent(check) as child:
                    ended = _attempt(child, task, on_told, check)
                if ended is not None:
                    return ended
        except _Over as over:
            return _given_up(task, over)
        except Lost as lost:
            return _died(task, None, lost)

    def close(self) -> None:
        """End them all; what runs is given up."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            resting = list(self._resting)
        for child in resting:
            child.ask_to_end()
        with self._changed:
            # Threads in `run` end their own, which takes them a turn and the grace.
            patience = self._grace + 10 * TURN
            self._changed.wait_for(lambda: self._free == self._at_most, patience)
            left = list(self._all)
        self._end(left)

    # --- lending -----------------------------------------------------------------------------

    @contextmanager
    def _lent(self, check: Callable[[], None]) -> Iterator[ChildProcess]:
        child = self._take(check)
        try:
            child = child or self._start()
            yield child
        finally:
            self._give_back(child)

    def _take(self, check: Callable[[], None]) -> ChildProcess | None:
        """A place, and the child that rested last, if there is one."""
        while True:
            check()
            with self._changed:
                if self._changed.wait_for(lambda: self._free, TURN):
                    self._free -= 1
                    return self._resting.pop() if self._resting else None

    def _start(self) -> ChildProcess:
        child = ChildProcess(self._environment)
        with self._changed:
            self._all.add(child)
        return child

    def _give_back(self, child: ChildProcess | None) -> None:
        keep = child is not None and child.is_resting and not self._closed
        try:
            if child is not None and not keep:
                self._end([child])
        finally:
            with self._changed:
                if child is not None and keep:
                    self._resting.append(child)
                self._free += 1
                self._changed.notify_all()

    def _end(self, children: Sequence[ChildProcess]) -> None:
        """All at once: politely, then by force."""
        for child in children:
            child.ask_to_end()
        until = time.monotonic() + self._grace
        for child in children:
            child.finish(max(0.0, until - time.monotonic()))
        with self._changed:
            self._all.difference_update(children)

    # --- beginning ---------------------------------------------------------------------------

    def _begin(self) -> None:
        self._all: set[ChildProcess] = set()
        self._changed = threading.Condition()
        self._resting: list[ChildProcess] = []
        self._free, self._closed = self._at_most, False

    def _begin_in_fork(self) -> None:
        for child in self._all:
            child.forget()
        self._begin()


def _refuse_unknown(task: Task) -> None:
    if not was_given(task.module, task.qualname):
        raise InvalidOption(
            "task",
            f"{task.module}.{task.qualname}",
            'no job with executor="process" was declared there.',
        )


# --- one attempt -----------------------------------------------------------------------------


def _attempt(
    child: ChildProcess, task: Task, on_told: Callable[[Told], None], check: Callable[[], None]
) -> Ended | None:
    """None when a child that rested died before it began: another will do."""
    child.is_resting, began = False, False
    try:
        level = min(logging.INFO, log.getEffectiveLevel())
        child.send({"kind": "task", "task": asdict(task), "log_level": level}, check)
        while True:
            message = child.receive(check)
            began = True
            ended = _hear(message, on_told, child.pid)
            if ended is not None:
                child.is_resting = child.is_warm = True
                return ended
            check()
    except Lost as lost:
        return None if child.is_warm and not began else _died(task, child.pid, lost)
    except Nonsense as nonsense:
        return _died(task, child.pid, Lost(f"sent what is no message ({nonsense})"))


def _hear(message: Mapping[str, Any], on_told: Callable[[Told], None], pid: int) -> Ended | None:
    match message:
        case {"kind": "began"}:
            pass
        case {"kind": "progress", "done": done, "total": total}:
            on_told(Progress(done, total))
        case {"kind": "metric", "name": name, "value": value}:
            on_told(Metric(name, value))
        case {"kind": "line", "level": level, "text": text, "fields": fields}:
            on_told(Line(level, text, fields))
        case {"kind": "outcome"}:
            return Ended("answered", outcome_from(message), message.get("result"), pid=pid)
        case {"kind": "error", "lineage": names}:
            return Ended("failed", error=error_from(message), lineage=tuple(names), pid=pid)
        case _:
            raise Nonsense(f"of kind {message.get('kind')!r}")
    return None


def _died(task: Task, pid: int | None, lost: Lost) -> Ended:
    memory = " That is also how a system ends what takes too much memory." * ("KILL" in str(lost))
    process = "its process" if pid is None else f"its process {pid}"
    error = TransientError(
        f"{_name(task)}: {process} {lost}.{memory} Another attempt gets another process.",
        code="PROCESS_DIED",
    )
    return Ended("died", error=error, pid=pid)


def _given_up(task: Task, over: _Over) -> Ended:
    if over.kind == "given_up":
        return Ended("given_up")
    return Ended("too_long", error=TimeoutError(f"{_name(task)}: its time is up; it was ended."))


def _name(task: Task) -> str:
    return f"{task.job_name} {task.job_id} attempt {task.number}"
