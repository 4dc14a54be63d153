"""Raises worker processes quickly: imports once, then forks, and says who died of what.

Spoken to by lines: `start [point:count]` begins a worker, which kills itself at the named crash
point if one is given; `stop` ends them all with SIGTERM. It answers `started PID` and
`died PID SIGNAL TIME`. Every second worker has the profile `throughput`. Run as
`python -m tests.proof.nursery MODULE URL FOLDER SETTINGS`; the module's `build` makes the
application.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path

from tests.proof import job_scenario, scenario
from todoke import Event, Key, Settings, Todoke


class Deadly(Event, context="proof", aggregate="case"):
    """Kills the process that handles it."""

    case: Key[int]


def main() -> None:
    module, url, folder, settings = sys.argv[1:5]
    build = importlib.import_module(module).build
    children: set[int] = set()
    profiles = cycle(("safe", "throughput"))
    while True:
        ready, _, _ = select.select([sys.stdin], [], [], 0.01)
        if ready:
            order = sys.stdin.readline().split()
            if not order:
                break
            if order[0] == "stop":
                _signal(children, signal.SIGTERM)
            else:
                told = {**json.loads(settings), "outbox.profile": next(profiles)}
                children.add(_fork(partial(build, url, folder, told), folder, order[1:]))
        _reap(children)
    _signal(children, signal.SIGKILL)


def _fork(build: Callable[[], Todoke], folder: str, point: list[str]) -> int:
    child = os.fork()
    if child == 0:
        try:
            _be_a_worker(build, folder, point)
        finally:
            os._exit(0)
    print("started", child, flush=True)
    return child


def _be_a_worker(build: Callable[[], Todoke], folder: str, point: list[str]) -> None:
    logging.basicConfig(filename=f"{folder}/worker.log", level=logging.ERROR)
    if point:
        os.environ["TODOKE_CRASH"] = point[0]
    build().run()


def build(url: str, folder: str, settings: dict[str, object]) -> Todoke:
    app = Todoke(url, name="proof", settings=Settings(settings, environment={}))
    calls = os.open(f"{folder}/calls", os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    number = 0

    def called(event: str, handler: str) -> str:
        nonlocal number
        number += 1
        token = f"{os.getpid()}-{number}"
        os.write(calls, f"{event} {handler} {token}\n".encode())
        return token

    scenario.register(app, called)
    job_scenario.declare(app, called, lambda: None)

    @app.on(Deadly)
    def die(event: Deadly) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    return app


def _reap(children: set[int]) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            children.discard(child)
            print("died", child, status & 0x7F, time.time(), flush=True)


def _signal(children: set[int], number: signal.Signals) -> None:
    for child in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)


if __name__ == "__main__":
    Path(sys.argv[3]).mkdir(exist_ok=True)
    main()
