"""Runs the variants of a scenario round by round, so that the machine's moods hit all alike."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import monotonic, monotonic_ns, sleep
from typing import Any, TypeAlias

from sqlalchemy import NullPool, create_engine, text

from bench import todoke_side
from bench.peers.environment import PYTHON
from bench.place import Fresh, addresses, tidy
from bench.program import ROOT, Count, Program, counted, running, tell
from bench.scenario import OURS, RAW, Measured, Scenario, Variant

Run: TypeAlias = Callable[[Scenario, Variant, str, int], float]
PATIENCE = 600
EACH = 1000
"""Events per transaction where many are published at once."""


def measure(
    scenario: Scenario, fresh: Fresh, missing: Mapping[str, str], *, events: int, rounds: int
) -> list[Measured]:
    """`missing` are the peers that cannot be had, and why."""
    run = RUNS[scenario.role]
    return round_by_round(scenario, fresh, missing, run, events=events, rounds=rounds)


def round_by_round(
    scenario: Scenario,
    fresh: Fresh,
    missing: Mapping[str, str],
    run: Run,
    *,
    events: int,
    rounds: int,
) -> list[Measured]:
    """Each variant once a round, in a database of its own."""
    found = Measured(scenario, events, {})
    found.missing |= {
        one.name: missing[one.side] for one in scenario.variants if one.side in missing
    }
    for number in range(rounds):
        for variant in (one for one in scenario.variants if one.name not in found.missing):
            tell(f"{scenario.id}, round {number + 1} of {rounds}: {variant.name}")
            try:
                with fresh() as url:
                    rate = run(scenario, variant, url, events)
                found.figures.setdefault(variant.name, []).append(rate)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                if variant.side in (OURS, RAW):
                    raise
                found.missing[variant.name] = f"{type(error).__name__}: {error}"
    return [found]


def publishing(scenario: Scenario, variant: Variant, url: str, events: int) -> float:
    """Events per second, as the publishing process timed them."""
    count = _events(variant, events)
    taken = _timed(scenario, variant, url, count)
    assert _rows(url, _BACKLOG[variant.side]) == count, f"{variant.name} lost events"
    return count / taken * 1e9


def accepting(scenario: Scenario, variant: Variant, url: str, events: int) -> float:
    """Keys per second, as the accepting process timed them."""
    taken = _timed(scenario, variant, url, events)
    published = events if scenario.role == "accept" else 0
    found = _rows(url, _ledger), _rows(url, _live)
    assert found == (events, published), f"{variant.name} lost keys or events"
    return events / taken * 1e9


def _timed(scenario: Scenario, variant: Variant, url: str, count: int) -> int:
    """The nanoseconds that a process of its own says it took."""
    prepare(scenario, variant, url, 0)
    with running(command(scenario, variant, scenario.role, url, count)) as program:
        program.tell("go")
        (taken,) = program.answer()
    return int(taken)


def draining(scenario: Scenario, variant: Variant, url: str, events: int) -> float:
    """Events per second, from the first call of a handler until nothing is left to do."""
    count = _events(variant, events)
    prepare(scenario, variant, url, count)
    role = variant.options.get("role", "drain")
    with (
        counted(scenario.processes) as tally,
        store(url, variant.side) as is_empty,
        ExitStack() as programs,
    ):
        workers = [
            programs.enter_context(
                running(
                    command(scenario, variant, role, url, count, tally=tally.path, process=number)
                )
            )
            for number in range(scenario.processes)
        ]
        for worker in workers:
            worker.tell("go")
        ended = wait_until_done(tally, workers, is_empty, count)
        taken = ended - tally.began
    _check_nothing_is_lost(variant, url, count)
    return count / taken * 1e9


def prepare(scenario: Scenario, variant: Variant, url: str, count: int) -> None:
    """Fresh tables with a backlog; the raw loops use todoke's."""
    backlog = {k: v for k, v in variant.options.items() if k in ("ordered", "keys", "storage")}
    if variant.side in (OURS, RAW):
        told = {**addresses(url, scenario.database), **backlog, "events": count}
        todoke_side.prepare(told)
    else:
        peer = Variant(variant.name, variant.side, backlog)
        subprocess.run(command(scenario, peer, "prepare", url, count), check=True, cwd=ROOT)
    tidy(url, scenario.database)


def command(
    scenario: Scenario, variant: Variant, role: str, url: str, count: int, **more: Any
) -> list[str]:
    wish = {**addresses(url, scenario.database), **variant.options, "events": count, "each": EACH}
    told = json.dumps({**wish, **more})
    if variant.side in (OURS, RAW):
        return [sys.executable, "-m", "bench.side", variant.side, role, told]
    return [str(PYTHON), "-m", f"bench.peers.{variant.side}", role, told]


def _events(variant: Variant, events: int) -> int:
    return max(1, int(events * variant.share))


@contextmanager
def store(url: str, side: str) -> Iterator[Callable[[], bool]]:
    """Tells whether the store holds nothing unfinished; connected before it counts."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:

        def is_empty() -> bool:
            return not connection.scalar(text(_UNFINISHED[side](url)))

        is_empty()
        yield is_empty


def wait_until_done(
    tally: Count, workers: list[Program], is_empty: Callable[[], bool], count: int
) -> int:
    """The store is asked only when all was handled: asking costs the others time."""
    until = monotonic() + PATIENCE
    while tally.handled < count:
        assert all(worker.process.poll() is None for worker in workers), "a process died"
        assert monotonic() < until, f"{tally.handled} of {count} were handled only"
        sleep(0.002)
    while not is_empty():
        assert monotonic() < until, "work was left unfinished"
        sleep(0.001)
    return monotonic_ns()


def _check_nothing_is_lost(variant: Variant, url: str, count: int) -> None:
    if variant.side in (OURS, RAW):
        assert _rows(url, _history) == count, f"{variant.name} lost events"


def _rows(url: str, table: Callable[[str], str]) -> int:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return int(connection.scalar(text(f"SELECT count(*) FROM {table(url)}")) or 0)


def _live(url: str) -> str:
    return "todoke.outbox" if url.startswith("postgresql") else "todoke_outbox"


def _history(url: str) -> str:
    return f"{_live(url)}_history"


def _ledger(url: str) -> str:
    return "todoke.ledger" if url.startswith("postgresql") else "todoke_ledger"


def _of_todoke(url: str) -> str:
    return f"SELECT count(*) FROM {_live(url)}"


_UNFINISHED: dict[str, Callable[[str], str]] = {
    OURS: _of_todoke,
    RAW: _of_todoke,
    "txoutbox": lambda _: "SELECT count(*) FROM outbox WHERE status = 'pending'",
    "pgqueuer": lambda _: "SELECT count(*) FROM pgqueuer",
    "procrastinate": lambda _: (
        "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
    ),
}
_BACKLOG: dict[str, Callable[[str], str]] = {
    OURS: _live,
    RAW: _live,
    "txoutbox": lambda _: "outbox",
    "pgqueuer": lambda _: "pgqueuer",
    "procrastinate": lambda _: "procrastinate_jobs",
}
RUNS: dict[str, Run] = {
    "publish": publishing,
    "bulk": publishing,
    "accept": accepting,
    "repeat": accepting,
    "drain": draining,
}
