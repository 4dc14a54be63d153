"""Wake-ups: how soon an idle worker handles what was committed, and what that costs producers.

python -m bench wake [--samples 2000] [--held 500] [--rounds 5] [--floods 5] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from random import Random
from time import sleep
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from sqlalchemy import create_engine, text
from tests.servers.postgres import postgres_instance

from bench.wake_sides import Program, Side, running, todoke, todoke_command, txoutbox
from bench.wake_todoke import BARE, BARE_NOTIFY, BELL, NOTIFY, POLLING, prepare

Milliseconds: TypeAlias = float
Latencies: TypeAlias = dict[str, list[list[Milliseconds]]]
Rates: TypeAlias = dict[tuple[str, str, str], list[float]]

PRODUCERS = 8
HOLD, PER_SECOND = 0.05, 10
IDLE, KILLED = "idle worker", "worker killed just before"
VARIANTS = {IDLE: (POLLING, BELL, NOTIFY, BARE, BARE_NOTIFY), KILLED: (POLLING, BELL, NOTIFY)}
FLUSHES = {"disk as it is": 0, "each flush waits 2 ms more": 2000}
"""Disks that answer over a network, and synchronous standbys, are slower than a disk at hand.
NOTIFY makes commits wait for each other's flush, so what it costs depends on that."""


def main(arguments: Sequence[str]) -> None:
    wish = _arguments(arguments)
    console = Console()
    with postgres_instance() as server:
        sides = [side for side in (todoke(), txoutbox()) if side is not None]
        quick, held = _latencies(sides, server.url(), wish)
        rates = _floods(server.url(), wish.seconds, wish.floods)
    console.print(_latency_table("commit → handler, idle worker, ms", quick))
    console.print(_latency_table("the same, transactions of 50 ms, 10 a second, ms", held))
    console.print(_rate_table(rates))
    if wish.json:
        told = {
            "samples": wish.samples,
            "samples with 50 ms transactions": wish.held,
            "commit to handler, ms": _figures(quick),
            "with 50 ms transactions, ms": _figures(held),
            "commits per second": {" / ".join(key): value for key, value in rates.items()},
        }
        Path(wish.json).write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench wake", description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--held", type=int, default=500, help="samples with 50 ms transactions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--floods", type=int, default=5, help="rounds of floods of commits")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each flood")
    parser.add_argument("--json", help="write the figures to this file, too")
    return parser.parse_args(arguments)


# --- how soon --------------------------------------------------------------------------------


def _latencies(
    sides: Sequence[Side], url: str, wish: argparse.Namespace
) -> tuple[Latencies, Latencies]:
    """Each round runs every side once, so that the machine's moods hit all alike."""
    quick: Latencies = defaultdict(list)
    held: Latencies = defaultdict(list)
    for number in range(wish.rounds):
        for side in sides:
            Console(stderr=True).print(f"latency, round {number + 1} of {wish.rounds}: {side.name}")
            side.prepare(url)
            with (
                running(side.command("worker", url)) as worker,
                running(side.command("producer", url)) as producer,
            ):
                _one_by_one(worker, producer, range(1, 51))  # warm up
                numbers = range(100, 100 + wish.samples)
                quick[side.name].append(_one_by_one(worker, producer, numbers))
                numbers = range(1_000_000, 1_000_000 + wish.held)
                held[side.name].append(_at_a_rate(worker, producer, numbers))
    return quick, held


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


def _latency_table(title: str, latencies: Latencies) -> Table:
    columns = ("", "p50", "lowest-highest", "p99", "lowest-highest", "later than 100 ms", "ratio")
    table = _table(title, columns)
    figures = _figures(latencies)
    yardstick = figures["todoke"]
    for name, found in figures.items():
        ratio = f"{found['p50'] / yardstick['p50']:.2f} / {found['p99'] / yardstick['p99']:.2f}"
        table.add_row(
            name,
            f"{found['p50']:.2f}",
            f"{found['p50 lowest']:.2f}-{found['p50 highest']:.2f}",
            f"{found['p99']:.2f}",
            f"{found['p99 lowest']:.2f}-{found['p99 highest']:.2f}",
            f"{found['late']:.2%}",
            ratio,
        )
    return table


def _figures(latencies: Latencies) -> dict[str, dict[str, float]]:
    told = {}
    for name, rounds in latencies.items():
        cuts = [statistics.quantiles(one, n=100, method="inclusive") for one in rounds]
        middles, tails = [one[49] for one in cuts], [one[98] for one in cuts]
        every = [moment for one in rounds for moment in one]
        told[name] = {
            "p50": statistics.median(middles),
            "p50 lowest": min(middles),
            "p50 highest": max(middles),
            "p99": statistics.median(tails),
            "p99 lowest": min(tails),
            "p99 highest": max(tails),
            "late": sum(moment > 100 for moment in every) / len(every),
        }
    return told


# --- what it costs ---------------------------------------------------------------------------


def _floods(url: str, seconds: float, rounds: int) -> Rates:
    rates: Rates = defaultdict(list)
    console = Console(stderr=True)
    for number, flush, worker in product(range(rounds), FLUSHES, VARIANTS):
        _slow_flushes(url, FLUSHES[flush])
        for variant in VARIANTS[worker]:
            console.print(f"flood, round {number + 1} of {rounds}: {flush}, {worker}, {variant}")
            prepare(url)
            rates[flush, worker, variant].append(_flood(url, worker, variant, seconds))
    return rates


def _slow_flushes(url: str, microseconds: int) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"ALTER SYSTEM SET commit_delay = {microseconds:d}"))
        connection.execute(text("ALTER SYSTEM SET commit_siblings = 0"))
        connection.execute(text("SELECT pg_reload_conf()"))
    engine.dispose()


def _flood(url: str, with_worker: str, variant: str, seconds: float) -> float:
    with ExitStack() as programs:
        worker = programs.enter_context(running(todoke_command("worker", url, "quiet")))
        if with_worker == KILLED:
            worker.kill()
        command = todoke_command("flood", url, variant, seconds)
        producers = [programs.enter_context(running(command)) for _ in range(PRODUCERS)]
        for producer in producers:
            producer.tell("go")
        return sum(int(producer.answer()[0]) for producer in producers) / seconds


def _rate_table(rates: Rates) -> Table:
    title = f"{PRODUCERS} producers, one event a commit"
    table = _table(title, ("", "", "", "commits/s", "spread", "ratio"))
    for (flush, worker, variant), measured in rates.items():
        middle = statistics.median(measured)
        yardstick = BARE if variant == BARE_NOTIFY else POLLING
        alone = statistics.median(rates[flush, worker, yardstick])
        spread = f"{min(measured):,.0f}-{max(measured):,.0f}"
        table.add_row(flush, worker, variant, f"{middle:,.0f}", spread, f"{middle / alone:.2f}")
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title)
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    return table
