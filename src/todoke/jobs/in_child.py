"""A job whose function runs in a child process: the thread that has it waits for the answer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any

from todoke.errors import Cancelled, LeaseLost
from todoke.fork import after_fork
from todoke.jobs.address import address_of
from todoke.jobs.argument import Shape
from todoke.jobs.children import Children, Ended
from todoke.jobs.run import Run
from todoke.jobs.wire import Line, Metric, Progress, Task, Told
from todoke.outcome import Done, Outcome

PARAMETER = "run"
"""Which parameter takes the Run of a job that runs in a child, whatever its function asks for."""


class ChildPool:
    """The children of one process, started when they are first needed."""

    def __init__(self, at_most: int | None) -> None:
        self._at_most = at_most or os.cpu_count() or 1
        self._begin()
        after_fork(self, ChildPool._begin)

    def _begin(self) -> None:
        self._children: Children | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Children:
        with self._lock:
            if self._children is None:
                self._children = Children(self._at_most)
            return self._children

    def close(self) -> None:
        with self._lock:
            children, self._children = self._children, None
        if children is not None:
            children.close()


def in_child(
    function: Callable[..., Any],
    name: str,
    argument: Shape | None,
    result: Shape,
    run_parameter: str | None,
    timeout: float,
    pool: Callable[[], Children],
    max_bytes: int,
) -> Callable[..., Outcome]:
    """The same job, for a thread to call."""
    module, qualname = address_of(function)

    @wraps(function)
    def call(value: Any, *, run: Run) -> Outcome:
        task = Task(
            module,
            qualname,
            None if argument is None else argument.dump(value, name, max_bytes),
            run_parameter,
            run.number,
            run.idempotency_key,
            str(run.message.id),
            name,
            max_bytes,
        )
        until = time.monotonic() + timeout
        told, over = _telling(run), _Over(run)
        ended = pool().run(task, on_told=told, give_up=over, deadline=until)
        return _outcome(ended, run, result)

    return call


class _Over:
    """The attempt is not to go on: cancelled, or no longer this worker's."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __call__(self) -> bool:
        try:
            self._run.check()
        except (Cancelled, LeaseLost):
            return True
        return False


def _telling(run: Run) -> Callable[[Told], None]:
    def hear(told: Told) -> None:
        match told:
            case Progress(done, total):
                run.progress(done, total)
            case Metric(name, value):
                run.metric(name, value)
            case Line(level, text, fields):
                run.log.log(level, "%s", text, extra=dict(fields))

    return hear


def _outcome(ended: Ended, run: Run, result: Shape) -> Outcome:
    if ended.error is not None:
        raise ended.error
    if ended.kind == "given_up" or ended.outcome is None:
        run.check()  # raises why
        raise LeaseLost(run.name, run.number)
    if isinstance(ended.outcome, Done):
        return Done(None if ended.result is None else result.load(ended.result))
    return ended.outcome
