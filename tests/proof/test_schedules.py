"""The real ticks, driven through random interleavings and crashes on SQLite."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy.exc import IntegrityError

from tests.counts import Counts
from tests.jobs.points import OF_JOBS
from tests.proof.mutants import (
    MUTANTS,
    MUTANTS_OF_ORDER,
    Plant,
    leave_the_dead_among_the_living,
)
from tests.proof.schedules import explore, explore_on_all_cores
from tests.proof.simulator import CROWDED
from todoke import crash

# Every passage at which a simulated process can die must really have been passed.
# Those of people, of an orderly end, of cleaning and of jobs have tests of their own.
ELSEWHERE = ("redrive.", "shutdown.", "retention.", *OF_JOBS)
REACHED = [name for name in crash.POINTS if not name.startswith(ELSEWHERE)]


def test_no_random_schedule_loses_or_repeats_anything(
    counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """OB-4, OB-6, OB-7, OB-8, ER-3, OB-9, ID-5: seven invariants hold in every schedule.

    A violation names its seed; TODOKE_SEED=<seed> replays that schedule alone.
    """
    if seed := os.environ.get("TODOKE_SEED"):
        assert explore([int(seed)]).violations == []
        return
    report = explore_on_all_cores(range(counts.schedules))
    record_property("schedules", report.schedules)
    record_property("schedules per second", round(report.schedules / report.seconds))
    record_property("events published", report.events)
    record_property("handler calls", report.calls)
    record_property("violations", len(report.violations))
    assert report.violations == []
    assert [name for name in REACHED if report.passages[name] < 20] == []


def test_a_schedule_is_the_same_when_replayed() -> None:
    """A seed is all it takes to see a violation again."""
    assert explore([7, 8, 9]).passages == explore([7, 8, 9]).passages


@pytest.mark.parametrize("plant", MUTANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schedules would notice: each bug shows within a few hundred of them."""
    plant(monkeypatch)
    try:
        report = explore(range(1000), stop_at_first=True)
    except IntegrityError:
        # Of one that a person redrives, the database itself finds two in one place.
        assert plant is leave_the_dead_among_the_living
        return
    assert report.violations, f"{plant.__doc__} went unnoticed in {report.schedules} schedules"


@pytest.mark.parametrize("plant", MUTANTS_OF_ORDER, ids=lambda plant: plant.__name__)
def test_a_planted_bug_of_order_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-9: each shows within a few of those schedules whose events are of one key."""
    plant(monkeypatch)
    report = explore(range(0, 100 * CROWDED, CROWDED), stop_at_first=True)
    assert report.violations, f"{plant.__doc__} went unnoticed in {report.schedules} schedules"
