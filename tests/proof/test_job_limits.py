"""Limits of jobs, over all keys and of each key, while workers are killed and stopped."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from sqlalchemy import func, select

from tests.counts import Counts
from tests.proof.limited import Visit, build, inside, visit_job
from tests.proof.workers import workers
from tests.waiting import until
from todoke import Settings, Todoke

LEASE = 1.0
SETTINGS: dict[str, object] = {
    "lease.duration": f"{LEASE}s",
    "lease.renew": "300ms",
    "outbox.poll": "100ms",
    "retry.job": {"delays": ["50ms", "50ms", "50ms"]},
}
KEYS = 1_000


@pytest.fixture
def app(database_url: str, tmp_path: Path) -> Iterator[Todoke]:
    with closing(build(database_url, str(tmp_path), SETTINGS)) as app:
        app.migrate()
        inside.create(app.engine)
        yield app


def test_no_limit_is_exceeded_whoever_is_killed_or_stopped(
    app: Todoke,
    database_url: str,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """JB-9: 10 at once, 1 of each of 1,000 keys; kill -9, and SIGSTOP beyond the lease."""
    count = counts.limited if app.database.kind == "postgresql" else counts.limited // 10
    _enqueue(app, tmp_path, count)
    chance = random.Random(count)
    with workers(database_url, tmp_path, SETTINGS, "tests.proof.limited") as band:
        stops, pause = 0, 0.2
        while _living(app) > 0:
            while len(band.alive) < 3:
                band.start()
            threading.Event().wait(pause)
            victim, first = band.any(chance), pause == 0.2
            pause = chance.random() * 4
            if victim is not None and (first or chance.random() < 0.5):
                band.kill(victim)
            elif victim is not None and chance.random() < 0.5:
                stops += _stop_beyond_the_lease(victim)
        kills = band.kills
        band.stop()
    told = (tmp_path / "visits").read_text().splitlines()
    done = {line.split()[0] for line in told if line.endswith("done")}
    record_property("jobs", count)
    record_property("kills", kills)
    record_property("stops beyond the lease", stops)
    assert [line for line in told if not line.endswith("done")] == []
    assert len(done) == count
    assert kills > 0
    assert _letters(app) == 0
    assert _rows(app, "key_slots") == 0


def _enqueue(app: Todoke, folder: Path, count: int) -> None:
    with closing(Todoke(app.url.render_as_string(False), name="proof", settings=_plain())) as other:
        visit = visit_job(other, str(folder))
        for start in range(0, count, 1_000):
            numbers = range(start, min(count, start + 1_000))
            visits = [Visit(number=one, tenant=f"tenant-{one % KEYS}") for one in numbers]
            with other.session() as session:
                visit.enqueue_all(session, visits)


def _plain() -> Settings:
    return Settings(SETTINGS, environment={})


def _stop_beyond_the_lease(victim: int) -> int:
    """While it stands still others take its work over; then it wakes up, and finds nothing."""
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGSTOP)
        threading.Event().wait(LEASE * 1.5)
        os.kill(victim, signal.SIGCONT)
        return 1
    return 0


def _living(app: Todoke) -> int:
    return _rows(app, "jobs")


def _rows(app: Todoke, name: str) -> int:
    table = app.jobs_table.live if name == "jobs" else app.job_room.tables.key_slots
    with app.engine.connect() as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _letters(app: Todoke) -> int:
    with app.session() as session:
        return len(app.dead_letters.list(session).items)


def test_a_job_that_kills_its_worker_is_found_and_its_neighbours_live(
    app: Todoke, database_url: str, tmp_path: Path
) -> None:
    """JB-1, OB-7: at most 4 workers are lost; the 99 claimed along with it are all done."""
    with closing(Todoke(database_url, name="proof", settings=_plain())) as other:
        visit = visit_job(other, str(tmp_path))

        @other.job(name="die")
        def die(number: int) -> None: ...

        with other.session() as session:
            die.enqueue(session, 0)
            visit.enqueue_all(session, [Visit(number=n, tenant=str(n)) for n in range(99)])
    settings = {**SETTINGS, "worker.queues": {"default": 100}}
    with workers(database_url, tmp_path, settings, "tests.proof.deadly_jobs") as band:
        while _living(app) > 0:
            if not band.alive:
                band.start()
            until(lambda: not band.alive or _living(app) == 0, 60)
        deaths = band.kills
        band.stop()
    with app.session() as session:
        letters = app.dead_letters.list(session).items
    told = (tmp_path / "visits").read_text().splitlines()
    done = {line.split()[0] for line in told if line.endswith("done")}
    assert [(one.name, one.code, one.crashes) for one in letters] == [("die", "CRASHED", 3)]
    assert len(done) == 99
    assert deaths <= 4
