"""The real ticks, driven through random interleavings and crashes on SQLite."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from sqlalchemy.exc import IntegrityError

from tests.counts import Counts
from tests.proof.job_mutants import MUTANTS_OF_JOBS, tell_of_what_was_fenced
from tests.proof.mutants import (
    MUTANTS,
    MUTANTS_OF_ORDER,
    Plant,
    break_the_fence,
    leave_the_dead_among_the_living,
)
from tests.proof.schedules import explore, explore_on_all_cores
from tests.proof.simulator import CROWDED, WORKING
from todoke import crash

# Every passage at which a simulated process can die must really have been passed.
# Those of people, of an orderly end, of cleaning and of schedules have tests of their own.
ELSEWHERE = ("redrive.", "shutdown.", "retention.", "forget.", "tick.")
REACHED = [name for name in crash.POINTS if not name.startswith(ELSEWHERE)]
# Two in one place, when a person redrives one of them; or a run that is told twice under one id.
FOUND_BY_THE_DATABASE = (
    leave_the_dead_among_the_living,
    break_the_fence,
    tell_of_what_was_fenced,
)


def test_no_random_schedule_loses_or_repeats_anything(
    counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """OB-4, OB-6, OB-7, OB-8, ER-3, OB-9, ID-5: seven invariants hold in every schedule.

    JB-1, JB-3, JB-4, JB-5, JB-9, JB-10: five more hold of jobs, in every fourth of them. A
    violation names its seed; TODOKE_SEED=<seed> replays that schedule alone.
    """
    if seed := os.environ.get("TODOKE_SEED"):
        assert explore([int(seed)]).violations == []
        return
    report = explore_on_all_cores(range(counts.schedules))
    record_property("schedules", report.schedules)
    record_property("schedules per second", round(report.schedules / report.seconds))
    record_property("events and jobs", report.events)
    record_property("handler calls", report.calls)
    record_property("violations", len(report.violations))
    assert report.violations == []
    assert [name for name in REACHED if report.passages[name] < 20] == []


def test_a_schedule_is_the_same_when_replayed_alone() -> None:
    """A seed is all it takes to see a violation again, whatever was run before it."""
    before, alone = explore([9, 8]).passages, explore([300, 333]).passages
    assert explore([9, 8, 300, 333]).passages == before + alone


@pytest.mark.parametrize("plant", MUTANTS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """The schedules would notice: each bug shows within a few hundred of them."""
    _catch(plant, monkeypatch, range(1000))


@pytest.mark.parametrize("plant", MUTANTS_OF_ORDER, ids=lambda plant: plant.__name__)
def test_a_planted_bug_of_order_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """OB-9: each shows within a few of those schedules whose events are of one key."""
    _catch(plant, monkeypatch, range(0, 100 * CROWDED, CROWDED))


@pytest.mark.parametrize("plant", MUTANTS_OF_JOBS, ids=lambda plant: plant.__name__)
def test_a_planted_bug_of_jobs_is_caught(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    """JB-1, JB-3, JB-5, JB-9, JB-10: each shows within a few of those schedules that have jobs."""
    _catch(plant, monkeypatch, range(WORKING, 400 * CROWDED, CROWDED))


def _catch(plant: Plant, patch: pytest.MonkeyPatch, seeds: range) -> None:
    plant(patch)
    try:
        report = explore(seeds, stop_at_first=True)
    except IntegrityError:
        assert plant in FOUND_BY_THE_DATABASE
        return
    assert report.violations, f"{plant.__doc__} went unnoticed in {report.schedules} schedules"
