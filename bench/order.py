"""What order within a key costs: the same backlog drained in order and without, interleaved.

python -m bench order [--events 60000] [--rounds 3]
"""

from __future__ import annotations

import argparse
import statistics

from rich.console import Console
from rich.table import Table
from tests.servers.postgres import postgres_instance

from bench.drain import Measured, Ordered, Rate, async_handler, prepared

VARIANTS: dict[str, tuple[type[Measured], int | None]] = {
    "unordered": (Measured, None),
    "ordered, 60,000 keys": (Ordered, 60_000),
    "ordered, 1,000 keys": (Ordered, 1_000),
    "ordered, 10 keys": (Ordered, 10),
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="bench order", description=__doc__)
    parser.add_argument("--events", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    wish = parser.parse_args(arguments)
    rates: dict[str, list[Rate]] = {name: [] for name in VARIANTS}
    with postgres_instance() as server:
        for number in range(wish.rounds):
            for name, (kind, keys) in VARIANTS.items():
                Console(stderr=True).print(f"round {number + 1} of {wish.rounds}: {name}")
                with prepared(server.url(), wish.events, kind, keys) as app:
                    rates[name].append(async_handler(app, wish.events))
    _print(rates, wish.events, wish.rounds)


def _print(rates: dict[str, list[Rate]], events: int, rounds: int) -> None:
    table = Table(
        title=f"drain of {events:,} no-op events, PostgreSQL, 1 process, batch 100, "
        f"median of {rounds} (lowest-highest)"
    )
    for column in ("variant", "events/s", "spread", "ratio to unordered"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    yardstick = statistics.median(rates["unordered"])
    for name, measured in rates.items():
        middle = statistics.median(measured)
        spread = f"{min(measured):,.0f}-{max(measured):,.0f}"
        table.add_row(name, f"{middle:,.0f}", spread, f"{middle / yardstick:.2f}")
    Console().print(table)
