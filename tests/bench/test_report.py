"""What the benchmarks tell: ratios between like and like, bars, and peers that are missing."""

from __future__ import annotations

import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from bench.jobs import latency as jobs_latency
from bench.measure import measure
from bench.peers import environment
from bench.peers import event as peers_event
from bench.place import DATABASES, place
from bench.scenario import OURS, RAW, Measured, Scenario, Variant
from bench.scenarios import every
from rich.console import Console

from bench import bars, event, report

VARIANTS = [
    Variant("raw loop, batch 100", RAW, group="batch 100"),
    Variant("raw loop that validates, batch 100", RAW, group="batch 100"),
    Variant("raw loop, batch 500", RAW, group="best settings"),
    Variant("todoke, async def, batch 100", OURS, group="batch 100"),
    Variant("todoke, async def, best settings", OURS, group="best settings"),
    Variant("PgQueuer, batch 100", "pgqueuer", {"batch": 100}, "batch 100"),
    Variant("PgQueuer, batch 1000", "pgqueuer", {"batch": 1000}, "best settings"),
    Variant("txoutbox, batch 1000, deletes", "txoutbox", {"batch": 1000}, "best settings"),
]
FIGURES = {
    "raw loop, batch 100": [20.0, 10.0, 30.0],
    "raw loop that validates, batch 100": [25.0],
    "raw loop, batch 500": [40.0],
    "todoke, async def, batch 100": [12.0],
    "todoke, async def, best settings": [30.0],
    "PgQueuer, batch 100": [4.0],
    "PgQueuer, batch 1000": [15.0],
}
SCENARIO = Scenario("drain", "drain", "postgresql", "drain", VARIANTS, events=100)
FOUND = Measured(SCENARIO, 100, FIGURES, {"txoutbox, batch 1000, deletes": "no network"})


def test_everybody_carries_the_same_payload() -> None:
    ours, theirs = event.Measured(order_id=7), peers_event.Measured(order_id=7)
    assert ours.model_dump_json() == theirs.model_dump_json()


def test_ratios_are_between_medians_of_like_settings() -> None:
    at_100, at_best = VARIANTS[3], VARIANTS[4]
    assert FOUND.ratio(at_100, RAW) == 12 / 20  # the plain loop, not the faster one
    assert FOUND.ratio(at_100, "pgqueuer") == 12 / 4
    assert FOUND.ratio(at_best, RAW) == 30 / 40
    assert FOUND.ratio(at_best, "pgqueuer") == 30 / 15
    assert FOUND.ratio(at_best, "txoutbox") is None
    narrower = Variant(at_best.name, OURS, group="best settings, keeps history")
    assert FOUND.ratio(narrower, RAW) == 30 / 40
    assert FOUND.ratio(narrower, "pgqueuer") == 30 / 15


def test_bars_are_told_for_what_was_measured_only() -> None:
    told = {one["bar"]: (one["reached"], one["met"]) for one in bars.told({"drain": FOUND})}
    assert told == {
        "drain, one process, batch 100: todoke ÷ pgqueuer": (3, True),
        "drain, one process, batch 100: todoke ÷ txoutbox": (None, None),
        "drain, one process, batch 100: todoke ÷ raw": (0.6, True),
        "drain, one process, best settings: todoke ÷ pgqueuer": (2, False),
        "drain, one process, best settings: todoke ÷ txoutbox": (None, None),
        "drain, one process, best settings: todoke ÷ raw": (0.75, True),
        "drain, one process, batch 100: todoke ÷ txoutbox that keeps its rows": (None, None),
        "drain, one process, best settings: todoke ÷ txoutbox that keeps its rows": (None, None),
        "drain, batch 100: threads ÷ async": (None, None),
        "drain, best settings: threads ÷ async": (None, None),
    }


def test_every_bar_names_what_is_measured() -> None:
    """A renamed variant would otherwise leave a bar that is never reached."""
    scenarios = [one for known in DATABASES.values() for name in known for one in every(name)]
    scenarios += [
        one.part(figure)
        for one in scenarios
        if one.role == "jobs-latency"
        for figure in jobs_latency.FIGURES
    ]
    found = {
        one.id: Measured(one, 1, {variant.name: [1.0] for variant in one.variants})
        for one in scenarios
    }
    reached = [value for _, value in bars.reached(found)]
    assert len(reached) == len(bars.BARS)
    assert None not in reached


def test_a_missing_peer_is_named_and_counted() -> None:
    screen = StringIO()
    console = Console(width=160, file=screen)
    report.show(console, FOUND, 3)
    assert "MISSING" in screen.getvalue()
    report.print_notes(console, [FOUND, replace(FOUND, scenario=replace(SCENARIO, name="two"))])
    assert "2 VARIANTS ARE MISSING" in screen.getvalue()
    assert "two: txoutbox, batch 1000, deletes: no network" in screen.getvalue()


def test_peers_that_cannot_be_installed_are_all_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder can be made in here")
    folder = tmp_path / "file" / "bench"
    for name in ("FOLDER", "NEWER_FOLDER"):
        monkeypatch.setattr(environment, name, folder)
    monkeypatch.setattr(environment, "_newer_python", lambda: sys.executable)
    missing = environment.install()
    assert set(missing) == set(environment.PEERS)
    assert all("could not be installed" in reason for reason in missing.values())


def test_a_peer_that_breaks_stops_nobody() -> None:
    """It is not installed where tests run, so its process does not even start."""
    broken = Variant("broken", "no_such_peer")
    scenario = Scenario("publish", "publish", "sqlite-full", "publish", [broken], events=1)
    with place("sqlite-full") as fresh:
        (found,) = measure(scenario, fresh, {}, events=1, rounds=2)
    assert found.figures == {}
    assert list(found.missing) == ["broken"]


def test_programs_can_read_it_all() -> None:
    told = report.told([FOUND], 3)["scenarios"]["drain"]
    assert told["missing"] == {"txoutbox, batch 1000, deletes": "no network"}
    one = told["variants"]["PgQueuer, batch 100"]
    assert one == {"side": "pgqueuer", "settings": {"batch": 100}, "figures": [4.0]}
