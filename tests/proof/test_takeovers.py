"""A scheduler may die anywhere: no tick is lost, none is enqueued twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection, Row, func, select
from sqlalchemy.exc import IntegrityError

from tests.counts import Counts
from tests.proof import clockwork
from tests.proof.takeovers import World, jobs_of, ticks_of
from tests.proof.tick_ledger import Evidence, Job, Plan, Tick, verify
from tests.proof.workers import Workers, workers
from tests.waiting import until
from todoke import Todoke
from todoke.job_runtime import scheduler_of
from todoke.jobs.due import gather
from todoke.jobs.enqueue import JobWriter
from todoke.jobs.schedule import Schedule
from todoke.jobs.scheduler import Scheduler
from todoke.jobs.ticks import TickLedger
from todoke.runtime import Runtime
from todoke.work.row import Row as JobRow

SCHEDULERS = 3
SETTINGS: dict[str, object] = {
    "lease.duration": "1s",
    "lease.renew": "300ms",
    "outbox.poll": "100ms",
}
POINTS = ("tick.before_commit", "tick.after_commit", "enqueue.before_insert")
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def world(migrated_url: str) -> Iterator[World]:
    world = World(migrated_url)
    with closing(world.app):
        yield world


def test_no_takeover_loses_or_doubles_a_tick(
    world: World, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """JB-2: racing schedulers that die between any two statements."""
    world.storm(counts.takeovers, SCHEDULERS, POINTS)
    world.calm()
    evidence = world.evidence()
    record_property("takeovers", world.deaths)
    record_property("ticks", sum(tick.count for tick in evidence.ticks))
    record_property("jobs", len(evidence.jobs))
    record_property("refused by the database", world.refusals)
    record_property("died at", dict(world.places.most_common()))
    assert verify(evidence) == []
    assert world.overlaps == []
    assert world.deaths >= counts.takeovers
    assert all(world.places[point] for point in POINTS)


def test_a_scheduler_may_die_at_each_statement(
    world: World, record_property: Callable[[str, object], None]
) -> None:
    """JB-2: one death at each place, from the first statement to the last commit."""
    with world.burning():
        for steps in count(1):
            world.clock.advance("11m")
            if not world.live(steps):
                break
            world.live(10**9)
    record_property("places", steps - 1)
    world.calm()
    assert verify(world.evidence()) == []
    assert steps > 50
    assert all(world.places[point] for point in POINTS)


def test_who_looked_before_another_wrote_writes_nothing(world: World) -> None:
    """JB-2: of two that saw the same, the second finds that it is done."""
    world.calm()
    world.clock.advance("2h")
    first, second = world.scheduler(), world.scheduler()
    with world.app.engine.connect() as connection:
        with connection.begin():
            looked = first._ledger.look(connection)
        for scheduler in (first, second):
            for schedule in scheduler._schedules:
                scheduler._attend(connection, schedule, looked)
    assert first.accounted > 0
    assert second.accounted == 0
    world.calm()
    assert verify(world.evidence()) == []


def test_kill_nine_loses_or_doubles_no_tick(
    migrated_url: str,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """JB-2: real workers, killed at the points of a tick and at random moments."""
    with closing(clockwork.build(migrated_url, "", SETTINGS)) as app:
        with app.engine.connect() as connection:
            scheduler_of(Runtime(app)).catch_up(connection)
        start = _accounted(app)[0]
        with workers(migrated_url, tmp_path, SETTINGS, "tests.proof.clockwork") as band:
            _kill(band, counts.kills // 5)
            calm = datetime.now(UTC)
            until(lambda: _is_calm(app, band, calm), 60)
            band.stop()
            kills = band.kills
        ticks, jobs = ticks_of(app), jobs_of(app)
        violations = [
            line for plan in clockwork.PLANS for line in verify(_of(plan, start, ticks, jobs))
        ]
    record_property("kills", kills)
    record_property("ticks", sum(tick.count for tick in ticks))
    record_property("jobs", len(jobs))
    assert violations == []
    assert kills >= counts.kills // 5
    assert len(jobs) > 5


def _kill(band: Workers, kills: int) -> None:
    chance, pause = Random(kills), threading.Event()
    while band.kills < kills:
        while len(band.alive) < 3:
            armed = f"{chance.choice(POINTS)}:{chance.randint(1, 3)}"
            band.start(armed if chance.random() < 0.7 else "")
        pause.wait(chance.random() * 0.5)
        if (victim := band.any(chance)) is not None and chance.random() < 0.3:
            band.kill(victim)


def _is_calm(app: Todoke, band: Workers, since: datetime) -> bool:
    """Whoever was armed may still die, and is replaced."""
    while len(band.alive) < 2:
        band.start()
    with app.engine.connect() as connection:
        rows = select(func.count()).select_from(app.jobs_table.live)
        living = connection.execute(rows).scalar_one()
    return _accounted(app)[0] > since and living < 5


def _accounted(app: Todoke) -> list[datetime]:
    """How far each schedule is, the slowest first."""
    schedules = app.job_room.tables.schedules
    with app.engine.connect() as connection:
        return sorted(connection.execute(select(schedules.c.accounted)).scalars())


def _of(plan: Plan, start: datetime, ticks: Sequence[Tick], jobs: Sequence[Job]) -> Evidence:
    """What concerns one schedule; both began about then."""
    own = [one for one in ticks if one.schedule == plan.name]
    first, last = min(one.due for one in own), max(one.last_due or one.due for one in own)
    assert first - start < timedelta(seconds=plan.length + 5)
    before = first - timedelta(seconds=plan.length)
    return Evidence([plan], before, last, own, [one for one in jobs if one.schedule == plan.name])


# --- planted bugs ----------------------------------------------------------------------------


def account_before_the_ticks(patch: pytest.MonkeyPatch) -> None:
    """How far it is accounted for, committed before the ticks."""
    _in_two(patch, account_first=True)


def account_after_the_ticks(patch: pytest.MonkeyPatch) -> None:
    """How far it is accounted for, committed after the ticks."""
    _in_two(patch, account_first=False)


def enqueue_before_the_tick(patch: pytest.MonkeyPatch) -> None:
    """Jobs, committed before their ticks."""
    write = JobWriter.write

    def apart(self: JobWriter, connection: Connection, rows: list[JobRow]) -> None:
        write(self, connection, rows)
        connection.connection.commit()
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    patch.setattr(JobWriter, "write", apart)


def forget_the_job_that_is_going(patch: pytest.MonkeyPatch) -> None:
    """A tick that does not look whether the run before has ended."""
    patch.setattr(TickLedger, "going", lambda *_told: None)


def _in_two(patch: pytest.MonkeyPatch, *, account_first: bool) -> None:
    def account(
        self: Scheduler, connection: Connection, schedule: Schedule, seen: Row[Any], now: datetime
    ) -> float:
        gathered = gather(schedule.timetable, seen.accounted, now, schedule.cap)
        for part in (True, False):
            with connection.begin():
                locked = self._ledger.lock(connection, schedule.name)
                assert locked is not None
                if part is account_first:
                    until = locked.after([], gathered.end)
                    self._ledger.account(connection, schedule, until)
                    continue
                judge = self._writer.judge(connection, schedule, locked.last_job, now)
                rows = self._writer.change(connection, schedule, judge.begin_waiting())
                passed = [] if gathered.passed is None else [judge.passed(gathered.passed)]
                rows += self._writer.add(
                    connection, schedule, [*passed, *judge.judge(gathered.dues)]
                )
                self._ledger.account(connection, schedule, locked.after(rows))
        self.accounted += 1
        return 0.0

    patch.setattr(Scheduler, "_account", account)


@pytest.mark.parametrize(
    "plant",
    [
        account_before_the_ticks,
        account_after_the_ticks,
        enqueue_before_the_tick,
        forget_the_job_that_is_going,
    ],
    ids=lambda plant: plant.__name__,
)
def test_a_planted_bug_of_schedules_is_caught(
    plant: Plant, sqlite_copy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The takeovers would notice: each bug shows within a hundred of them."""
    plant(monkeypatch)
    world = World(sqlite_copy)
    with closing(world.app):
        try:
            world.storm(100, 1)
            world.calm()
        except IntegrityError:
            # The key of the ledger itself refuses a tick that is there already.
            assert plant is account_after_the_ticks
            return
        assert verify(world.evidence()) or world.overlaps, plant.__doc__
