"""Measures todoke beside raw loops over the same tables and beside its peers; judges nothing.

python -m bench [SCENARIO …] [--databases postgresql,sqlite] [--events N] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from tests.servers.availability import ServerUnavailable
from tests.servers.place import ON_DISK

from bench import bars, memory, report
from bench.jobs import latency as jobs_latency
from bench.jobs import measure as jobs_measure
from bench.measure import measure
from bench.peers import environment
from bench.place import DATABASES, place, version
from bench.scenario import Measured, Scenario
from bench.scenarios import every
from bench.wake import flood, latency

RESULTS = environment.ROOT / "var" / "bench-results"
MEASURES: Mapping[str, Callable[..., list[Measured]]] = {
    "wake": latency.measure,
    "flood": flood.measure,
    "memory": memory.measure,
    **dict.fromkeys(jobs_measure.RUNS, jobs_measure.measure),
    "jobs-latency": jobs_latency.measure,
}


def main() -> None:
    os.environ[ON_DISK] = "1"
    wish, console = _arguments(), report.console()
    missing = environment.install(_peers(wish))
    found: list[Measured] = []
    for database in wish.databases:
        try:
            found += _in_database(database, missing, wish, console)
        except ServerUnavailable as refusal:
            console.print(f"[bold red]NOT MEASURED: {database}[/]: {refusal.reason}")
    report.print_notes(console, found)
    by_id = {one.scenario.id: one for one in found}
    if any(bars.reached(by_id)):
        console.print(bars.table(by_id))
    told = {**report.told(found, wish.rounds), "bars": bars.told(by_id)}
    _write(json.dumps(told, indent=2, ensure_ascii=False), wish, console)


def _in_database(
    database: str, missing: Mapping[str, str], wish: argparse.Namespace, console: Console
) -> list[Measured]:
    chosen = _chosen(database, wish)
    found: list[Measured] = []
    if not chosen:
        return found
    with place(database) as fresh:
        console.print(f"\n{database}: {version(fresh, database)}", highlight=False)
        for scenario in chosen:
            events = wish.events or scenario.events
            run = MEASURES.get(scenario.role, measure)
            tables = run(scenario, fresh, missing, events=events, rounds=wish.rounds)
            for one in tables:
                report.show(console, one, wish.rounds)
            found += tables
    return found


def _chosen(database: str, wish: argparse.Namespace) -> list[Scenario]:
    return [one for one in every(database) if not wish.scenarios or one.name in wish.scenarios]


def _peers(wish: argparse.Namespace) -> list[str]:
    """Those that will be measured."""
    chosen = [one for database in wish.databases for one in _chosen(database, wish)]
    sides = {variant.side for scenario in chosen for variant in scenario.variants}
    return [peer for peer in environment.PEERS if peer in sides]


def _arguments() -> argparse.Namespace:
    names = sorted({one.name for known in DATABASES.values() for one in _scenarios(known)})
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(names))
    parser.add_argument("--databases", type=_databases, default=_databases(",".join(DATABASES)))
    parser.add_argument("--events", type=int, help="of each run; else as many as suit the scenario")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=RESULTS / "bench.json")
    parser.add_argument("--plot", type=Path, default=RESULTS / "bench.svg")
    wish = parser.parse_args()
    if unknown := set(wish.scenarios) - set(names):
        parser.error(f"no such scenario: {', '.join(sorted(unknown))}. Known: {', '.join(names)}")
    return wish


def _scenarios(databases: list[str]) -> list[Scenario]:
    return [scenario for database in databases for scenario in every(database)]


def _databases(said: str) -> list[str]:
    names = said.split(",")
    if unknown := set(names) - set(DATABASES):
        raise argparse.ArgumentTypeError(f"unknown: {unknown}. Known: {', '.join(DATABASES)}")
    return [database for name in names for database in DATABASES[name]]


def _write(told: str, wish: argparse.Namespace, console: Console) -> None:
    for path in (wish.json, wish.plot):
        path.parent.mkdir(parents=True, exist_ok=True)
    wish.json.write_text(told + "\n", encoding="utf-8")
    files = [str(path.absolute()) for path in (wish.json, wish.plot)]
    draw = [str(environment.PYTHON), "-m", "bench.plot", *files]
    try:
        subprocess.run(draw, check=True, cwd=environment.ROOT)
        console.print(f"written: {wish.json}, {wish.plot}")
    except (OSError, subprocess.SubprocessError) as error:
        console.print(f"written: {wish.json}. [bold red]NO PLOT[/]: {error}")


if __name__ == "__main__":
    main()
