"""What is measured, as data: a scenario has variants, which are run one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any, TypeAlias

Figures: TypeAlias = dict[str, list[float]]
"""One figure per round, by variant."""
OURS, RAW = "todoke", "raw"


@dataclass(frozen=True, slots=True)
class Variant:
    """One side with one set of settings."""

    name: str
    side: str
    """Who: todoke, raw, or a peer."""
    options: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""
    """Variants of one group are like with like; ratios are taken inside it where they can be,
    else inside a wider one, by whose name its own begins."""
    share: float = 1.0
    """Of the events; less for those that would take minutes."""


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    title: str
    database: str
    role: str
    variants: Sequence[Variant]
    events: int
    """How many, unless told otherwise."""
    processes: int = 1
    unit: str = "events/s"
    yardstick: str = "raw"
    """What its raw variants are, in a word."""
    figure: str = ""
    """Which of several figures, where a run gives several."""

    @property
    def id(self) -> str:
        words = (self.name, "" if self.database == "postgresql" else self.database, self.figure)
        return ", ".join(word for word in words if word)

    @property
    def less_is_better(self) -> bool:
        return self.unit in ("ms", "MB", "%")

    def part(self, *words: str, unit: str | None = None) -> Scenario:
        """The same with one of its figures only."""
        title, figure = f"{self.title}: {', '.join(words)}", ", ".join(words)
        return replace(self, title=title, figure=figure, unit=unit or self.unit)


@dataclass(slots=True)
class Measured:
    """What came out of a scenario."""

    scenario: Scenario
    events: int
    figures: Figures
    missing: dict[str, str] = field(default_factory=dict)
    """Variants that could not be run, and why."""

    def middle(self, name: str) -> float | None:
        found = self.figures.get(name)
        return median(found) if found else None

    def best(self, side: str, group: str = "") -> Variant | None:
        """The side's best variant, of the group if it has any there."""
        own = [one for one in self.scenario.variants if one.side == side and self.middle(one.name)]
        alike = [one for one in own if one.group == group]
        wider = [one for one in own if one.group and group.startswith(one.group)]
        choose = min if self.scenario.less_is_better else max
        return choose(
            alike or wider or own, key=lambda one: self.middle(one.name) or 0, default=None
        )

    def yardstick(self, group: str) -> Variant | None:
        """The plain raw loop: the first of the group."""
        raw = [one for one in self.scenario.variants if one.side == RAW]
        alike = [one for one in raw if group.startswith(one.group)]
        return next(iter(alike or raw), None)

    def ratio(self, variant: Variant, side: str) -> float | None:
        group, own = variant.group, self.middle(variant.name)
        other = self.yardstick(group) if side == RAW else self.best(side, group)
        theirs = self.middle(other.name) if other else None
        return own / theirs if own and theirs else None
