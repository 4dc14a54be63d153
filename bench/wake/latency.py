"""How soon an idle worker handles what was committed: from the commit's return to the handler."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from random import Random
from statistics import quantiles
from time import sleep
from typing import TypeAlias

from bench.peers.environment import PYTHON
from bench.place import Fresh, addresses
from bench.program import Program, running, tell
from bench.scenario import Measured, Scenario
from bench.wake import todoke_side

Milliseconds: TypeAlias = float
HOLD, PER_SECOND = 0.05, 10
QUICK, HELD = "one after the other", "transactions of 50 ms, 10 a second"
FIGURES = {"p50": 49, "p99": 98}
LATER, LATE = "later than 100 ms", 100.0
HELD_PER_QUICK, MOST = 4, 2000
"""Samples take their time one by one: more than so many would tell no more."""


def measure(
    scenario: Scenario, fresh: Fresh, missing: Mapping[str, str], *, events: int, rounds: int
) -> list[Measured]:
    """`events` one after the other, and a quarter as many in transactions that take long."""
    taken: dict[tuple[str, str], list[list[Milliseconds]]] = defaultdict(list)
    events = min(events, MOST)
    for number in range(rounds):
        for side in (one.side for one in scenario.variants if one.side not in missing):
            tell(f"wake, round {number + 1} of {rounds}: {side}")
            with fresh() as url:
                quick, held = _both(side, url, events)
            taken[QUICK, side].append(quick)
            taken[HELD, side].append(held)
    return [
        _figure(scenario, missing, taken, kind, name, events)
        for kind in (QUICK, HELD)
        for name in (*FIGURES, LATER)
    ]


def _both(side: str, url: str, samples: int) -> tuple[list[Milliseconds], list[Milliseconds]]:
    if side == "todoke":
        todoke_side.prepare(url)
    with (
        running(_command(side, "worker", url)) as worker,
        running(_command(side, "producer", url)) as producer,
    ):
        _one_by_one(worker, producer, range(1, 51))  # warm up
        quick = _one_by_one(worker, producer, range(100, 100 + samples))
        numbers = range(1_000_000, 1_000_000 + max(2, samples // HELD_PER_QUICK))
        return quick, _at_a_rate(worker, producer, numbers)


def _command(side: str, role: str, url: str) -> list[str]:
    if side == "todoke":
        return todoke_side.command(role, url)
    dsn = addresses(url, "postgresql")["dsn"]
    return [str(PYTHON), "-m", f"bench.wake.{side}_side", role, dsn]


def _one_by_one(worker: Program, producer: Program, numbers: Sequence[int]) -> list[Milliseconds]:
    random, taken = Random(7), []  # noqa: S311
    for number in numbers:
        producer.tell(number, 0)
        taken += _compare([producer.answer()], [worker.answer()])
        sleep(0.002 + 0.006 * random.random())  # long enough to be idle again, never in step
    return taken


def _at_a_rate(worker: Program, producer: Program, numbers: Sequence[int]) -> list[Milliseconds]:
    for number in numbers:
        producer.tell(number, HOLD)
        sleep(1 / PER_SECOND)
    return _compare([producer.answer() for _ in numbers], [worker.answer() for _ in numbers])


def _compare(
    committed: Sequence[Sequence[str]], handled: Sequence[Sequence[str]]
) -> list[Milliseconds]:
    moments = {number: int(moment) for number, moment in committed}
    assert len(moments) == len(handled)
    return [(int(moment) - moments[number]) / 1e6 for number, moment in handled]


def _figure(
    scenario: Scenario,
    missing: Mapping[str, str],
    taken: Mapping[tuple[str, str], list[list[Milliseconds]]],
    kind: str,
    name: str,
    events: int,
) -> Measured:
    """One table: this figure of each round, by side."""
    figures = {
        one.name: [_of(name, moments) for moments in taken[kind, one.side]]
        for one in scenario.variants
        if one.side not in missing
    }
    absent = {one.name: missing[one.side] for one in scenario.variants if one.side in missing}
    part = scenario.part(kind, name, unit="%" if name == LATER else None)
    return Measured(part, events, figures, absent)


def _of(name: str, moments: Sequence[Milliseconds]) -> float:
    if name in FIGURES:
        return quantiles(moments, n=100, method="inclusive")[FIGURES[name]]
    return 100 * sum(moment > LATE for moment in moments) / len(moments)
