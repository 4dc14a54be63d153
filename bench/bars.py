"""What todoke wants to reach, and whether this run did; nobody fails for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from rich.table import Table

from bench.memory import IDLE, PEAK
from bench.scenario import RAW, Measured
from bench.scenarios import AT_100, AT_BEST, CONNECTION, DRIVER, KEEPS_HISTORY, SESSION

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


def table(found: Found) -> Table:
    drawn = Table(title="bars", title_justify="left")
    for column in ("bar", "bound", "reached", ""):
        drawn.add_column(column, justify="left" if column == "bar" else "right", no_wrap=True)
    for bar, value in reached(found):
        bound = f"{'≤' if bar.at_most else '≥'} {bar.bound:g}"
        if value is None:
            drawn.add_row(bar.what, bound, "", "[bold red]MISSING[/]")
        else:
            verdict = "[green]met[/]" if bar.met(value) else "[bold red]not met[/]"
            drawn.add_row(bar.what, bound, f"{value:.2f}", verdict)
    return drawn


def reached(found: Found) -> Iterator[tuple[Bar, float | None]]:
    """Those bars whose scenarios were run; nothing is reached where a peer was missing."""
    for bar in BARS:
        if found.keys() >= set(bar.scenarios):
            yield bar, bar.reached(found)


def told(found: Found) -> list[dict[str, object]]:
    return [
        {
            "bar": bar.what,
            "at most" if bar.at_most else "at least": bar.bound,
            "reached": value,
            "met": None if value is None else bar.met(value),
        }
        for bar, value in reached(found)
    ]


def _to(scenario: str, name: str, side: str, group: str = "") -> Callable[[Found], float | None]:
    """The ratio of one variant to another side, of this group or of the variant's own."""

    def ratio(found: Found) -> float | None:
        measured = found[scenario]
        variant = next(one for one in measured.scenario.variants if one.name == name)
        return measured.ratio(replace(variant, group=group or variant.group), side)

    return ratio


def _between(one: tuple[str, str], other: tuple[str, str]) -> Callable[[Found], float | None]:
    """The ratio of two variants, each named by scenario and name."""

    def ratio(found: Found) -> float | None:
        first, second = (found[scenario].middle(name) for scenario, name in (one, other))
        return first / second if first and second else None

    return ratio


def _megabytes(found: Found) -> float | None:
    return found["memory"].middle(PEAK)


def _over_idle(found: Found) -> float | None:
    idle, peak = found["memory"].middle(IDLE), found["memory"].middle(PEAK)
    return peak - idle if peak is not None and idle is not None else None


def _ratio(what: str, bound: float, scenario: str, name: str, side: str, group: str = "") -> Bar:
    return Bar(what, bound, _to(scenario, name, side, group), (scenario,))


def _publishing() -> Iterator[Bar]:
    for handle, bound in ((CONNECTION, 0.8), (SESSION, 0.5), (DRIVER, 0.8)):
        yield _ratio(f"publish: {handle} ÷ raw", bound, "publish", handle, RAW)
    for handle in (CONNECTION, SESSION, DRIVER):
        yield _ratio(f"bulk: {handle} ÷ raw", 0.8, "bulk", handle, RAW)
        yield _ratio(f"bulk: {handle} ÷ PgQueuer", 1, "bulk", handle, "pgqueuer")
        yield _ratio(f"accept: {handle} ÷ raw", 0.5, "accept", handle, RAW)


def _draining() -> Iterator[Bar]:
    for scenario, words, bounds in (
        ("drain", "one process", {"pgqueuer": 3, "txoutbox": 1.8, RAW: 0.5}),
        ("drain-two", "two processes", {"pgqueuer": 2, "txoutbox": 1}),
    ):
        for group in (AT_100, AT_BEST):
            ours = f"todoke, async def, {group}"
            for side, bound in bounds.items():
                what = f"drain, {words}, {group}: todoke ÷ {side}"
                yield _ratio(what, bound, scenario, ours, side)
            what, like = f"drain, {words}, {group}: todoke ÷ txoutbox that keeps its rows", group
            bound = bounds["txoutbox"]
            yield _ratio(what, bound, scenario, ours, "txoutbox", like + KEEPS_HISTORY)


def _alongside() -> Iterator[Bar]:
    for group in (AT_100, AT_BEST):
        ours, threads = f"todoke, async def, {group}", f"todoke, def in threads, {group}"
        more = _between(("drain-two", ours), ("drain", ours))
        yield Bar(f"drain, {group}: two processes ÷ one", 1, more, ("drain", "drain-two"))
        beside = _between(("drain", threads), ("drain", ours))
        yield Bar(f"drain, {group}: threads ÷ async", 0.7, beside, ("drain",))
        session = f"todoke, session handler, {group}"
        yield _ratio(f"session handlers, {group}: todoke ÷ raw", 0.5, "session", session, RAW)
        for place in ("sqlite-full", "sqlite-normal"):
            what = f"drain, {place}, {group}: todoke ÷ raw"
            yield _ratio(what, 0.4, f"drain, {place}", ours, RAW)


MEMORY = ("memory",)
BARS = (
    *_publishing(),
    *_draining(),
    *_alongside(),
    Bar("memory while draining, MB", 95, _megabytes, MEMORY, at_most=True),
    Bar("memory while draining over idle, MB", 10, _over_idle, MEMORY, at_most=True),
)
