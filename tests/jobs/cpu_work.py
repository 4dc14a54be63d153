"""Functions that tests run in child processes."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from todoke.errors import BusinessError, PermanentError, TransientError
from todoke.jobs.run import Run
from todoke.message import Event
from todoke.outcome import Done, Outcome, Reject, Retry, Skip, Snooze


class Square(BaseModel):
    side: int
    drawn: date


class CreditRefused(Event, ordered=False):
    order: int


class CardStolen(PermanentError):
    pass


class Untellable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@dataclass
class Declared:
    """Stands for a Job."""

    function: Any


def area(square: Square) -> dict[str, int]:
    return {str(square.drawn.year): square.side**2}


def pid() -> int:
    return os.getpid()


async def doubled(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


def _tripled(number: int) -> int:
    return 3 * number


_tripled.__qualname__ = "tripled"
tripled = Declared(_tripled)


def answered(which: str) -> int | Outcome:
    answers: dict[str, int | Outcome] = {
        "done": Done(7),
        "retry": Retry("10m", reason="busy", code="BUSY"),
        "retry by policy": Retry(),
        "snooze": Snooze(timedelta(seconds=1.5), reason="night"),
        "snooze until": Snooze(datetime(2031, 1, 2, tzinfo=UTC)),
        "reject": Reject("too old", code="OLD"),
        "skip": Skip("nothing there"),
    }
    return answers[which]


def raised(which: str) -> None:
    errors: dict[str, BaseException] = {
        "permanent": PermanentError("gone", code="GONE"),
        "own permanent": CardStolen("card 7"),
        "transient": TransientError("busy", code="BUSY", after="5m"),
        "transient timedelta": TransientError("busy", after=timedelta(seconds=9)),
        "business": BusinessError("no", code="NO_CREDIT", publish=CreditRefused(order=7)),
        "timeout": TimeoutError("slow"),
        "other": ZeroDivisionError("by nothing"),
        "exit": SystemExit(3),
        "untellable": Untellable(),
    }
    raise errors[which]


def telling(run: Run) -> str:
    run.metric("bytes", 12.5)
    run.log.info("read %d lines", 3, extra={"file": Path("in.csv")})
    run.log.debug("not even kept")
    for _ in run.track([1, 2, 3]):
        pass
    return f"{run.number} {run.idempotency_key}"


def told_while_it_runs(name: str, run: Run) -> None:
    """Ends only when the other side has seen the progress."""
    run.progress(1, 2)
    _until(Path(name).exists)


def printing(count: int) -> str:
    print("from the job" * count)
    os.write(1, b"from its descriptor\n")
    print("to its errors", file=sys.stderr)
    return "undisturbed"


def dying(how: str) -> None:
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), getattr(signal, how))
    threading.Event().wait()


def dying_with_a_fork_left() -> None:
    """A fork that Python knows nothing of, and that holds whatever the child had open."""
    if ctypes.PyDLL(None).fork() == 0:
        threading.Event().wait()
    os._exit(3)


def closing() -> None:
    os.closerange(3, 100)
    threading.Event().wait()


def busy(name: str) -> None:
    Path(name).write_text(str(os.getpid()))
    while True:
        pass


def busy_in_c(name: str) -> None:
    """No thread of this process runs any more, and no signal handler."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    Path(name).write_text(str(os.getpid()))
    re.match(r"(a+)+$", "a" * 60 + "b")


def deaf_to_the_system(name: str) -> None:
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    busy(name)


def stubborn(name: str) -> None:
    Path(name).write_text(str(os.getpid()))
    while True:
        try:
            threading.Event().wait()
        except BaseException:
            logging.getLogger(__name__).debug("not me")


def tidy(name: str) -> None:
    """Forgives every Exception, and leaves the file empty when it is interrupted."""
    Path(name).write_text(str(os.getpid()))
    try:
        while True:
            try:
                threading.Event().wait()
            except Exception:
                logging.getLogger(__name__).debug("not me")
    finally:
        Path(name).write_text("")


async def tidy_async(name: str) -> None:
    """The same, in a task of its own."""
    Path(name).write_text(str(os.getpid()))
    try:
        while True:
            await asyncio.wait([asyncio.create_task(_wait())])
    finally:
        Path(name).write_text("")


async def _wait() -> None:
    threading.Event().wait()


def checking(name: str, run: Run) -> None:
    """Hears of it by asking only."""
    Path(name).write_text(str(os.getpid()))
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        while True:
            run.check()
    finally:
        Path(name).write_text("")


def deaf_to_others() -> str:
    """A SIGTERM that the worker did not send."""
    os.kill(os.getpid(), signal.SIGTERM)
    return "still here"


def with_offspring(name: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import threading; threading.Event().wait()"]
    ) as p:
        Path(name).write_text(f"{os.getpid()} {p.pid}")


def with_a_fork() -> int | None:
    """How a fork ends that is terminated."""
    fork = multiprocessing.get_context("fork")
    begun = fork.Event()
    process = fork.Process(target=_for_ever, args=(begun,))
    process.start()
    begun.wait()
    process.terminate()
    process.join(5)
    process.kill()
    return process.exitcode


def _for_ever(begun: Any) -> None:
    begun.set()
    threading.Event().wait()


def flooding(run: Run) -> None:
    while True:
        run.metric("again", 1)


def haunting(run: Run) -> None:
    """A thread of this job goes on telling after its end."""

    def tell() -> None:
        while True:
            run.metric("ghost", 1)

    threading.Thread(target=tell, daemon=True).start()


def megabytes(count: int) -> str:
    return "x" * (count * 1024 * 1024)


def no_json(which: str) -> Any:
    return {"object": object(), "bytes": b"\xff"}[which]


def not_a_number() -> list[float]:
    return [float("nan")]


def wrong_type() -> int:
    return "three"  # type: ignore[return-value]


def unreasonable() -> Skip:
    return Skip(object())  # type: ignore[arg-type]


def where() -> tuple[list[str], str, list[str], str | None]:
    return sys.path, str(Path.cwd()), sys.argv[1:], os.environ.get("COLOUR")


class Outer:
    @staticmethod
    def inside() -> str:
        return "inside"


def _until(condition: Any) -> None:
    while not condition():
        threading.Event().wait(0.01)
