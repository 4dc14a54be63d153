"""Measures todoke beside the raw loop, interleaved in one run; figures are printed, not judged.

python -m bench [--events 20000] [--rounds 3] [--json FILE]
python -m bench order …     what order within a key costs, see bench/order.py
python -m bench wake …      how soon committed events are handled, see bench/wake.py
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.servers.place import ON_DISK
from tests.servers.postgres import postgres_instance

from bench import order, wake
from bench.drain import VARIANTS, Rate, prepared


def main() -> None:
    os.environ[ON_DISK] = "1"
    if sys.argv[1:2] == ["wake"]:
        wake.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["order"]:
        order.main(sys.argv[2:])
        return
    wish = _arguments()
    with postgres_instance() as server:
        rates = _measure(server.url(), wish.events, wish.rounds)
    _print(rates, wish.events, wish.rounds)
    if wish.json:
        Path(wish.json).write_text(json.dumps(_told(rates, wish.events), indent=2) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="write the figures to this file, too")
    return parser.parse_args()


def _measure(url: str, events: int, rounds: int) -> dict[str, list[Rate]]:
    """Each round runs every variant once, so that the machine's moods hit all alike."""
    rates: dict[str, list[Rate]] = {name: [] for name in VARIANTS}
    for number in range(rounds):
        for name, variant in VARIANTS.items():
            Console(stderr=True).print(f"round {number + 1} of {rounds}: {name}")
            with prepared(url, events) as app:
                rates[name].append(variant(app, events))
    return rates


def _print(rates: dict[str, list[Rate]], events: int, rounds: int) -> None:
    yardstick = statistics.median(next(iter(rates.values())))
    table = Table(
        title=f"drain of {events:,} no-op events, PostgreSQL, 1 process, batch 100, "
        f"median of {rounds} (lowest-highest)"
    )
    for column in ("variant", "events/s", "spread", "ratio to raw"):
        table.add_column(column, justify="left" if column == "variant" else "right")
    for name, measured in rates.items():
        middle = statistics.median(measured)
        spread = f"{min(measured):,.0f}-{max(measured):,.0f}"
        table.add_row(name, f"{middle:,.0f}", spread, f"{middle / yardstick:.2f}")
    console = Console()
    console.print(table)
    console.print(_versions())


def _told(rates: dict[str, list[Rate]], events: int) -> dict[str, object]:
    return {"events": events, "versions": _versions(), "events per second": rates}


def _versions() -> str:
    names = ("todoke", "sqlalchemy", "psycopg", "pydantic")
    return f"Python {platform.python_version()}, " + ", ".join(f"{n} {version(n)}" for n in names)


if __name__ == "__main__":
    main()
