"""Figures for people (a table) and for programs (JSON)."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.jobs import redis
from bench.jobs.scenarios import ON_REDIS, TRANSACTIONAL
from bench.peers import environment
from bench.scenario import OURS, RAW, Measured, Variant

PEERS = {"txoutbox": "txoutbox", **TRANSACTIONAL, **ON_REDIS}
WIDE = 190


def console() -> Console:
    """Wide enough for its tables where there is no terminal to ask."""
    found = Console()
    return found if found.is_terminal else Console(width=WIDE)


def show(console: Console, found: Measured, rounds: int) -> None:
    scenario = found.scenario
    console.print(
        f"\n[bold]{scenario.database}: {scenario.title}[/]; {_events(found)}"
        f"median of {rounds} (lowest-highest)"
    )
    console.print(table(found))


def table(found: Measured) -> Table:
    scenario = found.scenario
    others = [side for side in (RAW, *PEERS) if found.best(side)]
    words = {RAW: scenario.yardstick, **PEERS}
    drawn = Table()
    drawn.add_column("variant", no_wrap=True)
    columns = (scenario.unit, "lowest-highest", *(f"÷ {words[side]}" for side in others))
    for column in columns:
        drawn.add_column(column, justify="right")
    told = {*found.figures, *found.missing}
    for variant in (one for one in scenario.variants if one.name in told):
        drawn.add_row(*_row(found, variant, others), style="bold" if variant.side == OURS else None)
    return drawn


def _events(found: Measured) -> str:
    what = "jobs" if found.scenario.role.startswith("jobs-") else "events"
    return f"{found.events:,} {what}, " if found.events else ""


def _row(found: Measured, variant: Variant, others: Sequence[str]) -> list[str]:
    middle = found.middle(variant.name)
    if middle is None:
        return [variant.name, "[bold red]MISSING[/]", *([""] * (len(others) + 1))]
    measured = found.figures[variant.name]
    ratios = [found.ratio(variant, side) for side in others]
    return [
        variant.name,
        _figure(middle),
        f"{_figure(min(measured))}-{_figure(max(measured))}",
        *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
    ]


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def print_notes(console: Console, found: Sequence[Measured]) -> None:
    """What was not measured, loudly, and with what versions and settings the rest was."""
    missing = [(one.scenario.id, *each) for one in found for each in one.missing.items()]
    if missing:
        console.print(f"[bold red]{len(missing)} VARIANTS ARE MISSING[/]")
        for scenario, name, reason in missing:
            console.print(f"  {scenario}: {name}: {reason}")
    for side, names in versions().items():
        told = ", ".join(f"{name} {number}" for name, number in names.items())
        console.print(f"{side}: {told}")
    for name, options in _peers_settings(found):
        console.print(f"{name}: {options}")
    console.print(
        "÷ is the ratio to the plain raw loop, and to a peer's best variant, of the same "
        "settings where there is one."
    )


def _peers_settings(found: Sequence[Measured]) -> list[tuple[str, str]]:
    """Each once, in the order of the tables."""
    every = [
        (variant.name, _settings(variant))
        for one in found
        for variant in one.scenario.variants
        if variant.side in PEERS and _settings(variant)
    ]
    return list(dict.fromkeys(every))


def _settings(variant: Variant) -> str:
    """Its own, and how much less it was given to do because it is slow."""
    told = [json.dumps(variant.options)] if variant.options else []
    return ", ".join([*told, *([f"of as many {variant.share:.0%}"] if variant.share < 1 else [])])


def versions() -> dict[str, dict[str, str]]:
    ours = {"Python": platform.python_version(), **environment.our_versions()}
    return {"here": ours, **environment.versions(), "servers": redis.versions()}


def told(found: Sequence[Measured], rounds: int) -> dict[str, Any]:
    return {
        "versions": versions(),
        "rounds": rounds,
        "scenarios": {one.scenario.id: _scenario(one) for one in found},
    }


def _scenario(found: Measured) -> dict[str, Any]:
    return {
        "title": f"{found.scenario.database}: {found.scenario.title}",
        "unit": found.scenario.unit,
        "events": found.events,
        "processes": found.scenario.processes,
        "missing": found.missing,
        "variants": {
            variant.name: {
                "side": variant.side,
                "settings": dict(variant.options),
                "figures": found.figures[variant.name],
            }
            for variant in found.scenario.variants
            if variant.name in found.figures
        },
    }
