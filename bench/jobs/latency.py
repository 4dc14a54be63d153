"""How soon an idle worker starts a job: from the commit's return to the job's first line."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from statistics import quantiles
from time import sleep
from typing import TypeAlias

from bench.jobs.measure import command, prepare
from bench.jobs.store import store
from bench.place import Fresh
from bench.program import Program, running, tell
from bench.scenario import OURS, RAW, Measured, Scenario, Variant

Milliseconds: TypeAlias = float
FIGURES = {"p50": 49, "p99": 98}
WARM_UP, MOST = 50, 2000
"""Samples take their time one by one: more than so many would tell no more."""


def measure(
    scenario: Scenario, fresh: Fresh, missing: Mapping[str, str], *, events: int, rounds: int
) -> list[Measured]:
    """Variants one after the other in each round; one job at a time."""
    absent = {one.name: missing[one.side] for one in scenario.variants if one.side in missing}
    taken: dict[str, list[list[Milliseconds]]] = defaultdict(list)
    for number in range(rounds):
        for variant in (one for one in scenario.variants if one.name not in absent):
            tell(f"{scenario.id}, round {number + 1} of {rounds}: {variant.name}")
            samples = max(2, int(min(events, MOST) * variant.share))
            try:
                with fresh() as url:
                    taken[variant.name].append(_one_by_one(variant, url, samples))
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                if variant.side in (OURS, RAW):
                    raise
                absent[variant.name] = f"{type(error).__name__}: {error}"
    return [_figure(scenario, name, taken, absent, events) for name in FIGURES]


def _one_by_one(variant: Variant, url: str, samples: int) -> list[Milliseconds]:
    with store(variant, url) as jobs:
        prepare(variant, jobs, 0)
        with (
            running(command(variant, jobs, "worker")) as worker,
            running(command(variant, jobs, "producer")) as producer,
        ):
            warm_up = min(WARM_UP, samples)
            _send(worker, producer, range(warm_up))
            return _send(worker, producer, range(warm_up, warm_up + samples))


def _send(worker: Program, producer: Program, numbers: Sequence[int]) -> list[Milliseconds]:
    random, taken = Random(7), []  # noqa: S311
    for number in numbers:
        producer.tell(number)
        (enqueued, committed), (done, started) = producer.answer(), worker.answer()
        assert int(enqueued) == int(done) == number
        taken.append((int(started) - int(committed)) / 1e6)
        sleep(0.005 + 0.025 * random.random())  # long enough to be idle again, never in step
    return taken


def _figure(
    scenario: Scenario,
    name: str,
    taken: Mapping[str, list[list[Milliseconds]]],
    absent: Mapping[str, str],
    events: int,
) -> Measured:
    """One table: this figure of each round, by variant."""
    figures = {
        variant: [quantiles(one, n=100, method="inclusive")[FIGURES[name]] for one in rounds]
        for variant, rounds in taken.items()
        if variant not in absent
    }
    return Measured(scenario.part(name), events, figures, dict(absent))
