"""What wake-ups cost producers: eight of them, one event a commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import product

from sqlalchemy import NullPool, create_engine, text

from bench.place import Fresh
from bench.program import running, tell
from bench.scenario import Measured, Scenario
from bench.wake import todoke_side
from bench.wake.todoke_side import BARE, BARE_NOTIFY

PRODUCERS, SECONDS = 8, 3.0
IDLE, KILLED = "idle worker", "worker killed just before"
FLUSHES = {"disk as it is": 0, "each flush waits 2 ms more": 2000}
"""Disks that answer over a network, and synchronous standbys, are slower than a disk at hand.
NOTIFY makes commits wait for each other's flush, so what it costs depends on that."""


def measure(
    scenario: Scenario, fresh: Fresh, _missing: Mapping[str, str], *, rounds: int, **_: object
) -> list[Measured]:
    rates: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for number, flush, worker in product(range(rounds), FLUSHES, (IDLE, KILLED)):
        for variant in (one.name for one in scenario.variants if _fits(one.name, worker)):
            tell(f"flood, round {number + 1} of {rounds}: {flush}, {worker}, {variant}")
            with fresh() as url, _slow_flushes(url, FLUSHES[flush]):
                rates[flush, worker][variant].append(_flood(url, worker, variant))
    return [Measured(scenario.part(*kind), 0, dict(figures)) for kind, figures in rates.items()]


def _fits(variant: str, worker: str) -> bool:
    """Without todoke there is no worker that could be killed."""
    return worker == IDLE or variant not in (BARE, BARE_NOTIFY)


@contextmanager
def _slow_flushes(url: str, microseconds: int) -> Iterator[None]:
    _set_flushes(url, microseconds)
    try:
        yield
    finally:
        _set_flushes(url, 0)


def _set_flushes(url: str, microseconds: int) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.execute(text(f"ALTER SYSTEM SET commit_delay = {microseconds:d}"))
        siblings = 0 if microseconds else 5
        connection.execute(text(f"ALTER SYSTEM SET commit_siblings = {siblings:d}"))
        connection.execute(text("SELECT pg_reload_conf()"))


def _flood(url: str, with_worker: str, variant: str) -> float:
    todoke_side.prepare(url)
    with ExitStack() as programs:
        worker = programs.enter_context(running(todoke_side.command("worker", url, "quiet")))
        if with_worker == KILLED:
            worker.kill()
        command = todoke_side.command("flood", url, variant, SECONDS)
        producers = [programs.enter_context(running(command)) for _ in range(PRODUCERS)]
        for producer in producers:
            producer.tell("go")
        return sum(int(producer.answer()[0]) for producer in producers) / SECONDS
