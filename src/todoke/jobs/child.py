"""What runs in a child process of a worker: one attempt after the other, in its main thread.

It ends when its worker says so, or is gone. A SIGTERM from elsewhere it ignores: where a whole
group of processes is told to stop, the worker drains and decides what becomes of its children.
"""

from __future__ import annotations

import asyncio
import fcntl
import inspect
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from queue import SimpleQueue
from typing import Any, NoReturn

from pydantic import ValidationError

from todoke.errors import InvalidArgument, PermanentError
from todoke.fork import after_fork
from todoke.jobs.address import find
from todoke.jobs.argument import OUTCOMES, Shape, without_outcomes
from todoke.jobs.child_run import ChildRun
from todoke.jobs.report import tell_error, tell_outcome
from todoke.jobs.wire import LONGEST, TURN, Closed, Nonsense, Task, Wire
from todoke.message import told
from todoke.outcome import Done
from todoke.work.handler import hints_of, place


class GivenUp(SystemExit):
    """The worker has given up this attempt: it was cancelled, took too long, or is another's.

    A SystemExit, since an event loop lets nothing else through.
    """


def main() -> None:
    wire, tether = (socket.socket(fileno=int(number)) for number in sys.argv[1:3])
    for end in (wire, tether):
        end.set_inheritable(False)
    del sys.argv[1:]
    _end_with(tether)
    for stream in (sys.stdout, sys.stderr):
        # What a job prints is seen at once, and is not lost if it is killed.
        with suppress(AttributeError, ValueError):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    Child(Wire(wire), tether).work()


def _end_with(tether: socket.socket) -> None:
    """End when the worker's end closes, even while C code lets no thread of ours run.

    The system sends SIGIO then, to whatever the job has started as well; it ends a process.
    """
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(tether, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(tether, fcntl.F_SETFL, fcntl.fcntl(tether, fcntl.F_GETFL) | fcntl.FASYNC)


@dataclass(frozen=True, slots=True)
class _Order:
    task: Task
    run: ChildRun


class Child:
    """Listens in a thread, works in the main one."""

    def __init__(self, wire: Wire, tether: socket.socket) -> None:
        self._wire, self._tether = wire, tether
        self._orders: SimpleQueue[_Order] = SimpleQueue()
        self._current: ChildRun | None = None
        self._given_up = self._leaving = False

    def work(self) -> None:
        """Until it is told to end."""
        signal.signal(signal.SIGTERM, lambda *_: self._interrupt())
        after_fork(self, Child._renounce)
        threading.Thread(target=self._listen, name="todoke-worker", daemon=True).start()
        try:
            while True:
                self._check()
                self._attempt(self._orders.get())
        finally:
            self._leaving = True

    def _interrupt(self) -> None:
        # Who has found out by itself is on its way out, and is not to be interrupted there.
        if not self._leaving:
            self._check()

    def _attempt(self, order: _Order) -> None:
        self._wire.send({"kind": "began"})
        try:
            answer = _answer(order)
        except GivenUp:
            raise
        except BaseException as error:
            answer = _failure(error)
        order.run.end()
        self._current = None
        self._send_answer(answer)

    def _send_answer(self, answer: dict[str, Any]) -> None:
        try:
            self._wire.send(answer)
        except (TypeError, ValueError) as error:  # a reason that is no text, or the like
            self._wire.send(tell_error(error))

    def _check(self) -> None:
        if self._given_up:
            raise GivenUp

    # --- in the other thread -----------------------------------------------------------------

    def _listen(self) -> None:
        try:
            while True:
                run = self._current
                message = self._wire.receive(None if run is None else TURN)
                if message is not None:
                    self._obey(message)
                elif run is not None:
                    run.send_progress()
        except (Closed, Nonsense):
            pass
        except Exception:
            traceback.print_exc()
        finally:
            _end_at_once()

    def _obey(self, message: dict[str, Any]) -> None:
        match message:
            case {"kind": "task", "task": task, "log_level": level}:
                given = Task(**task)
                self._current = ChildRun(given, level, self._wire.send, self._check)
                self._orders.put(_Order(given, self._current))
            case {"kind": "end"}:
                self._given_up = True
                os.kill(os.getpid(), signal.SIGTERM)

    def _renounce(self) -> None:
        """In a fork that a job makes: it is not ours to speak, and it may be terminated."""
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self._wire.close()
        self._tether.close()


def _failure(error: BaseException) -> dict[str, Any]:
    try:
        return tell_error(error)
    except Exception as worse:  # an error that cannot be told is still just a failed attempt
        return tell_error(worse)


def _end_at_once() -> NoReturn:
    """With all that jobs have started here; the worker is gone, nobody waits for anything."""
    with suppress(OSError):
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


# --- calling the function --------------------------------------------------------------------


def _answer(order: _Order) -> dict[str, Any]:
    """Call the function; its answer as a message."""
    task = order.task
    function = find(task.module, task.qualname)
    shapes = _shapes(function, task.run_parameter)
    values = [] if task.argument is None else [_argument(task, task.argument, shapes)]
    own = {} if task.run_parameter is None else {task.run_parameter: order.run}
    answer = function(*values, **own)
    if inspect.iscoroutine(answer):
        answer = asyncio.run(answer)
    outcome = answer if isinstance(answer, OUTCOMES) else Done(answer)
    message = tell_outcome(outcome)
    if isinstance(outcome, Done):
        message["result"] = _result_text(task, outcome.result, shapes)
    return message


@dataclass(frozen=True, slots=True)
class _Shapes:
    """What a function takes and answers."""

    argument: Shape | None
    result: Shape


@lru_cache(maxsize=1000)
def _shapes(function: Callable[..., Any], run_parameter: str | None) -> _Shapes:
    hints = hints_of(function, place(function))
    names = [name for name in inspect.signature(function).parameters if name != run_parameter]
    result = Shape(without_outcomes(hints.get("return", Any)))
    return _Shapes(Shape(hints.get(names[0], Any)) if names else None, result)


def _argument(task: Task, text: str, shapes: _Shapes) -> Any:
    if shapes.argument is None:
        raise PermanentError(
            f"{task.job_name} {task.job_id} has an argument, and its function takes none.",
            code="WRONG_ARGUMENT",
        )
    try:
        return shapes.argument.load(text)
    except ValidationError as error:
        raise PermanentError(
            f"The argument of {task.job_name} {task.job_id} does not fit: {told(error)}.",
            code="WRONG_ARGUMENT",
        ) from None


def _result_text(task: Task, result: object, shapes: _Shapes) -> str:
    try:
        # Half of what a message may hold: within it, quotes and the like take two bytes.
        return shapes.result.dump(result, task.job_name, min(task.max_bytes, LONGEST // 2))
    except InvalidArgument as error:
        raise PermanentError(
            f"{task.job_name} {task.job_id} answered what cannot be kept: {error.why}. Its result "
            "has to be strict JSON of the annotated type; keep large ones elsewhere.",
            code="WRONG_RESULT",
        ) from error.__cause__
