"""One bar: a figure that todoke wants to reach, taken from what was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from bench.scenario import Measured

Found: TypeAlias = Mapping[str, Measured]
"""What was measured, by the scenario's id."""


@dataclass(frozen=True, slots=True)
class Bar:
    what: str
    bound: float
    reached: Callable[[Found], float | None]
    scenarios: tuple[str, ...]
    """Those it takes its figures from."""
    at_most: bool = False

    def met(self, value: float) -> bool:
        return value <= self.bound if self.at_most else value >= self.bound


def ratio(what: str, bound: float, scenario: str, name: str, side: str, group: str = "") -> Bar:
    return Bar(what, bound, to(scenario, name, side, group), (scenario,))


def to(scenario: str, name: str, side: str, group: str = "") -> Callable[[Found], float | None]:
    """The ratio of one variant to another side, of this group or of the variant's own."""

    def ratio(found: Found) -> float | None:
        measured = found[scenario]
        variant = next(one for one in measured.scenario.variants if one.name == name)
        return measured.ratio(replace(variant, group=group or variant.group), side)

    return ratio


def between(one: tuple[str, str], other: tuple[str, str]) -> Callable[[Found], float | None]:
    """The ratio of two variants, each named by scenario and name."""

    def ratio(found: Found) -> float | None:
        first, second = (found[scenario].middle(name) for scenario, name in (one, other))
        return first / second if first and second else None

    return ratio
