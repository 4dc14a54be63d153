"""Runs one variant of a scenario of jobs: enqueueing, and draining a backlog."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from bench.jobs import todoke_side
from bench.jobs.store import POSTGRESQL, Store, kept, store
from bench.measure import EACH, Run, round_by_round, wait_until_done
from bench.peers import environment
from bench.place import Fresh, tidy
from bench.program import ROOT, counted, running
from bench.scenario import OURS, RAW, Measured, Scenario, Variant


def measure(
    scenario: Scenario, fresh: Fresh, missing: Mapping[str, str], *, events: int, rounds: int
) -> list[Measured]:
    run = RUNS[scenario.role]
    return round_by_round(scenario, fresh, missing, run, events=events, rounds=rounds)


def enqueueing(scenario: Scenario, variant: Variant, url: str, events: int) -> float:
    """Jobs per second, as the enqueueing process timed them."""
    count = _jobs(variant, events)
    role = scenario.role.removeprefix("jobs-")
    with store(variant, url) as jobs:
        prepare(variant, jobs, 0)
        with running(command(variant, jobs, role, events=count, each=EACH)) as program:
            program.tell("go")
            (taken,) = program.answer()
        assert jobs.unfinished() == count, f"{variant.name} lost jobs"
    return count / int(taken) * 1e9


def draining(scenario: Scenario, variant: Variant, url: str, events: int) -> float:
    """Jobs per second, from the first one's start until nothing is left to do."""
    count = _jobs(variant, events)
    with (
        store(variant, url) as jobs,
        counted(scenario.processes) as tally,
        ExitStack() as programs,
    ):
        prepare(variant, jobs, count)
        assert jobs.unfinished() == count, f"{variant.name} has another backlog"
        told = [
            command(variant, jobs, "drain", tally=tally.path, process=number)
            for number in range(scenario.processes)
        ]
        workers = [programs.enter_context(running(one)) for one in told]
        for worker in workers:
            worker.tell("go")
        ended = wait_until_done(tally, workers, lambda: not jobs.unfinished(), count)
        taken = ended - tally.began
        assert variant.side not in (OURS, RAW) or kept(url) == (count, count), "jobs were lost"
    return count / taken * 1e9


def prepare(variant: Variant, jobs: Store, count: int) -> None:
    """Fresh tables with a backlog; the raw loops use todoke's."""
    wish = {**jobs.addresses, "events": count}
    if variant.side in (OURS, RAW):
        todoke_side.prepare(wish)
    else:
        subprocess.run(_command(variant.side, "prepare", wish), check=True, cwd=ROOT)
    tidy(jobs.addresses["url"], POSTGRESQL)


def command(variant: Variant, jobs: Store, role: str, **more: Any) -> list[str]:
    """How to start a process of this side."""
    return _command(variant.side, role, {**jobs.addresses, **variant.options, **more})


def _command(side: str, role: str, wish: Mapping[str, Any]) -> list[str]:
    if side in (OURS, RAW):
        return [sys.executable, "-m", "bench.side", f"{side}-jobs", role, json.dumps(wish)]
    python = str(environment.python_of(side))
    return [python, "-m", f"bench.peers.jobs.{side}", role, json.dumps(wish)]


def _jobs(variant: Variant, events: int) -> int:
    return max(1, int(events * variant.share))


RUNS: dict[str, Run] = {
    "jobs-enqueue": enqueueing,
    "jobs-bulk": enqueueing,
    "jobs-drain": draining,
}
