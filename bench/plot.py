"""Draws what `--json` wrote, in the peers' environment: `python -m bench.plot IN.json OUT.svg`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

COLOURS = {"todoke": "#c0392b", "raw": "#7f8c8d"}
PEER = "#2980b9"
ROW = 0.28
"""Inches."""


def main(source: str, target: str) -> None:
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    plots = import_module("matplotlib.pyplot")
    scenarios = json.loads(Path(source).read_text(encoding="utf-8"))["scenarios"]
    shown = [one for one in scenarios.values() if has_figures(one)]
    heights = [len(one["variants"]) + 3 for one in shown]
    figure, axes = plots.subplots(
        len(shown),
        1,
        figsize=(10, ROW * sum(heights)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for axis, scenario in zip(axes[:, 0], shown, strict=True):
        draw(axis, scenario)
    figure.savefig(target)


def has_figures(scenario: dict[str, Any]) -> bool:
    return any(max(one["figures"]) > 0 for one in scenario["variants"].values())


def draw(axis: Any, scenario: dict[str, Any]) -> None:
    """A bar for each median, a whisker from the lowest to the highest."""
    names = list(scenario["variants"])
    rounds = [one["figures"] for one in scenario["variants"].values()]
    middles = [median(figures) for figures in rounds]
    spread = [
        [middle - min(figures) for middle, figures in zip(middles, rounds, strict=True)],
        [max(figures) - middle for middle, figures in zip(middles, rounds, strict=True)],
    ]
    colours = [COLOURS.get(one["side"], PEER) for one in scenario["variants"].values()]
    axis.barh(names, middles, xerr=spread, color=colours, ecolor="#2c3e50")
    axis.invert_yaxis()
    axis.set_title(f"{scenario['title']} ({scenario['unit']})", loc="left", fontsize=10)
    axis.tick_params(labelsize=8)


if __name__ == "__main__":
    main(*sys.argv[1:3])
