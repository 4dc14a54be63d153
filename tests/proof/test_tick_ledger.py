"""The judge of ticks notices each violation."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from tests.proof.tick_ledger import Evidence, Job, Plan, Tick, verify

START = datetime(2026, 1, 1, tzinfo=UTC)
HOURLY = Plan("hourly", 3600, 0)


def at(hour: float) -> datetime:
    return START + timedelta(hours=hour)


def ran(hour: float) -> Tick:
    return Tick("hourly", at(hour), None, 1, "RAN", UUID(int=int(hour)))


def job(hour: float) -> Job:
    return Job(UUID(int=int(hour)), "hourly", at(hour))


STRETCH = Tick("hourly", at(1), at(4), 3, "MISSED", None)
"""Its third tick has a row of its own."""
GOOD = Evidence([HOURLY], START, at(5.5), [STRETCH, ran(3), ran(5)], [job(3), job(5)])


def test_a_good_ledger_has_no_violation() -> None:
    assert verify(GOOD) == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (replace(GOOD, ticks=[STRETCH, ran(3)], jobs=[job(3)]), "05:00:00+00:00 is lost"),
        (replace(GOOD, ticks=[*GOOD.ticks, ran(5)]), "is there twice"),
        (replace(GOOD, ticks=[*GOOD.ticks, replace(STRETCH, count=3)]), "is there twice"),
        (replace(GOOD, ticks=[*GOOD.ticks, ran(2.5)]), "was never due"),
        (replace(GOOD, ticks=[replace(STRETCH, count=4), *GOOD.ticks[1:]]), "says 4"),
        (replace(GOOD, jobs=[job(3)]), "is RAN and has 0 jobs"),
        (replace(GOOD, jobs=[job(3), job(5), job(5)]), "is RAN and has 2 jobs"),
        (replace(GOOD, jobs=[job(3), replace(job(5), id=UUID(int=9))]), "names another job"),
        (replace(GOOD, jobs=[*GOOD.jobs, job(2)]), "which has no tick"),
        (
            replace(GOOD, ticks=[STRETCH, ran(3), replace(ran(5), status="WAITING")]),
            "still waits",
        ),
        (replace(GOOD, jobs=[job(3), replace(job(5), body='"2026-01-01T00:00:00Z"')]), "got"),
    ],
)
def test_a_bad_ledger_is_called_by_its_name(bad: Evidence, said: str) -> None:
    assert any(said in line for line in verify(bad)), verify(bad)
