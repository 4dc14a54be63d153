"""Many random schedules, on all cores, each from its own seed."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from tests.proof.simulator import World
from tests.proof.verifier import verify


@dataclass
class Report:
    """What a number of schedules showed."""

    schedules: int = 0
    violations: list[str] = field(default_factory=list)
    passages: Counter[str] = field(default_factory=Counter)
    events: int = 0
    calls: int = 0
    seconds: float = 0.0

    def add(self, other: Report) -> None:
        self.schedules += other.schedules
        self.violations += other.violations
        self.passages += other.passages
        self.events += other.events
        self.calls += other.calls
        self.seconds = max(self.seconds, other.seconds)


def explore(seeds: Sequence[int], *, stop_at_first: bool = False) -> Report:
    """Run these schedules in this process."""
    report = Report()
    logging.disable(logging.CRITICAL)
    gc.disable()  # a tenth of the time, and nothing here lives in circles for long
    memory = Path("/dev/shm")  # noqa: S108
    place = memory if memory.is_dir() else None
    try:
        with tempfile.TemporaryDirectory(dir=place, prefix="todoke-schedules-") as folder:
            world = World(f"sqlite:///{folder}/simulated.db")
            started = perf_counter()
            for number, seed in enumerate(seeds):
                if number % 100 == 0:
                    gc.collect()
                _run(world, seed, report)
                if stop_at_first and report.violations:
                    break
            report.seconds = perf_counter() - started
            report.passages = Counter(world.hits)
            world.close()
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)
    return report


def explore_on_all_cores(seeds: range) -> Report:
    cores = os.cpu_count() or 1
    total = Report()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=spawn) as pool:
        for report in pool.map(explore, _dealt(seeds, cores)):
            total.add(report)
    return total


def _run(world: World, seed: int, report: Report) -> None:
    evidence = world.run(seed)
    report.schedules += 1
    report.events += len(evidence.published)
    report.calls += len(evidence.called)
    report.violations += [f"seed {seed}: {one}" for one in verify(evidence)]


def _dealt(seeds: range, hands: int) -> Iterable[range]:
    return [seeds[hand::hands] for hand in range(hands)]
