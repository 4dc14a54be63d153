"""What one worker process needs: at rest, and at most while it drains a backlog."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from time import sleep

from bench.measure import command, prepare, store, wait_until_done
from bench.place import Fresh
from bench.program import counted, running, tell
from bench.scenario import Measured, Scenario

PROCESSES = Path("/proc")
IDLE, PEAK = "todoke worker, idle", "todoke worker, highest while draining"
AT_REST = 3.0
"""Seconds after which a worker with nothing to do has loaded all it will."""


def measure(
    scenario: Scenario, fresh: Fresh, _missing: Mapping[str, str], *, events: int, rounds: int
) -> list[Measured]:
    if not PROCESSES.is_dir():
        return [Measured(scenario, events, {}, dict.fromkeys((IDLE, PEAK), "there is no /proc"))]
    figures: dict[str, list[float]] = {IDLE: [], PEAK: []}
    for number in range(rounds):
        tell(f"memory, round {number + 1} of {rounds}")
        for name, count in ((IDLE, 0), (PEAK, events)):
            with fresh() as url:
                figures[name].append(_megabytes(scenario, url, count))
    return [Measured(scenario, events, figures)]


def _megabytes(scenario: Scenario, url: str, count: int) -> float:
    variant = scenario.variants[0]
    prepare(scenario, variant, url, count)
    with counted(1) as tally, store(url, variant.side) as is_empty:
        told = command(scenario, variant, "drain", url, count, tally=tally.path, process=0)
        with running(told) as worker:
            worker.tell("go")
            if count:
                wait_until_done(tally, [worker], is_empty, count)
                return _of_process(worker.process.pid, "VmHWM")
            sleep(AT_REST)
            return _of_process(worker.process.pid, "VmRSS")


def _of_process(number: int, line: str) -> float:
    lines = (PROCESSES / str(number) / "status").read_text(encoding="ascii").splitlines()
    found = next(one for one in lines if one.startswith(line))
    return int(found.split()[1]) / 1024
