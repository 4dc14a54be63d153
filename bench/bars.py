"""What todoke wants to reach, and whether this run did; nobody fails for it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from bench.bar import Bar, Found, between, ratio
from bench.jobs import bars as of_jobs
from bench.memory import IDLE, PEAK
from bench.scenario import RAW
from bench.scenarios import AT_100, AT_BEST, CONNECTION, DRIVER, KEEPS_HISTORY, SESSION


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


def _megabytes(found: Found) -> float | None:
    return found["memory"].middle(PEAK)


def _over_idle(found: Found) -> float | None:
    idle, peak = found["memory"].middle(IDLE), found["memory"].middle(PEAK)
    return peak - idle if peak is not None and idle is not None else None


def _publishing() -> Iterator[Bar]:
    for handle, bound in ((CONNECTION, 0.8), (SESSION, 0.5), (DRIVER, 0.8)):
        yield ratio(f"publish: {handle} ÷ raw", bound, "publish", handle, RAW)
    for handle in (CONNECTION, SESSION, DRIVER):
        yield ratio(f"bulk: {handle} ÷ raw", 0.8, "bulk", handle, RAW)
        yield ratio(f"bulk: {handle} ÷ PgQueuer", 1, "bulk", handle, "pgqueuer")
        yield ratio(f"accept: {handle} ÷ raw", 0.5, "accept", handle, RAW)


def _draining() -> Iterator[Bar]:
    for scenario, words, bounds in (
        ("drain", "one process", {"pgqueuer": 3, "txoutbox": 1.8, RAW: 0.5}),
        ("drain-two", "two processes", {"pgqueuer": 2, "txoutbox": 1}),
    ):
        for group in (AT_100, AT_BEST):
            ours = f"todoke, async def, {group}"
            for side, bound in bounds.items():
                what = f"drain, {words}, {group}: todoke ÷ {side}"
                yield ratio(what, bound, scenario, ours, side)
            what, like = f"drain, {words}, {group}: todoke ÷ txoutbox that keeps its rows", group
            bound = bounds["txoutbox"]
            yield ratio(what, bound, scenario, ours, "txoutbox", like + KEEPS_HISTORY)


def _alongside() -> Iterator[Bar]:
    for group in (AT_100, AT_BEST):
        ours, threads = f"todoke, async def, {group}", f"todoke, def in threads, {group}"
        more = between(("drain-two", ours), ("drain", ours))
        yield Bar(f"drain, {group}: two processes ÷ one", 1, more, ("drain", "drain-two"))
        beside = between(("drain", threads), ("drain", ours))
        yield Bar(f"drain, {group}: threads ÷ async", 0.7, beside, ("drain",))
        session = f"todoke, session handler, {group}"
        yield ratio(f"session handlers, {group}: todoke ÷ raw", 0.5, "session", session, RAW)
        for place in ("sqlite-full", "sqlite-normal"):
            what = f"drain, {place}, {group}: todoke ÷ raw"
            yield ratio(what, 0.4, f"drain, {place}", ours, RAW)


MEMORY = ("memory",)
BARS = (
    *_publishing(),
    *_draining(),
    *_alongside(),
    *of_jobs.bars(),
    Bar("memory while draining, MB", 95, _megabytes, MEMORY, at_most=True),
    Bar("memory while draining over idle, MB", 10, _over_idle, MEMORY, at_most=True),
)
