"""A worker with real threads and the real clock, and handlers that wait for the test."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.application import application
from todoke import Todoke
from todoke.clock import SystemClock
from todoke.runtime import Runtime
from todoke.work.process import Process

QUICK: dict[str, object] = {
    "outbox.poll": "20ms",
    "lease.renew": "200ms",
    "lease.duration": "5s",
    "worker.threads": 4,
    "worker.queues.default": 4,
}


@contextmanager
def quick_application(url: str, **settings: object) -> Iterator[Todoke]:
    with application(url, clock=SystemClock(), settings={**QUICK, **settings}) as app:
        yield app


@contextmanager
def worker(app: Todoke, drain: float = 10) -> Iterator[tuple[Runtime, Process]]:
    """A running worker; stopped at the end unless the test did."""
    runtime = Runtime(app)
    process = runtime.start()
    try:
        yield runtime, process
    finally:
        process.stop(drain)


class Gate:
    """Where handlers wait until the test lets them through."""

    def __init__(self) -> None:
        self.arrived: list[int] = []
        self._open = threading.Event()

    def wait(self, who: int = 0) -> None:
        self.arrived.append(who)
        assert self._open.wait(30), "nobody opened the gate"

    def open(self) -> None:
        self._open.set()
