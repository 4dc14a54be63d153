"""Real worker processes, killed with SIGKILL at random moments and at named points."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tests.counts import Counts
from tests.proof import job_scenario, scenario, witness
from tests.proof.evidence import Evidence, Published
from tests.proof.nursery import Deadly, build
from tests.proof.verifier import verify
from tests.proof.workers import Workers, workers
from tests.waiting import until
from todoke import Todoke, crash

LEASE = 1.0
SETTINGS: dict[str, object] = {
    "lease.duration": f"{LEASE}s",
    "lease.renew": "300ms",
    "outbox.poll": "100ms",
    "retry.default": {"delays": ["50ms", "50ms", "50ms"]},
    "retry.job": {"delays": ["50ms", "50ms", "50ms"]},
    **job_scenario.SETTINGS,
}
# Publishing happens in the clients here, and the others have tests of their own.
OF_CLIENTS = ("accept.", "publish.", "unique.")
ELSEWHERE = (*OF_CLIENTS, "redrive.", "shutdown.", "retention.", "report.", "forget.", "tick.")
POINTS = [name for name in crash.POINTS if not name.startswith(ELSEWHERE)]


@pytest.fixture
def app(database_url: str, tmp_path: Path) -> Iterator[Todoke]:
    with closing(build(database_url, str(tmp_path), SETTINGS)) as app:
        app.migrate()
        witness.install(app)
        yield app


def test_kill_nine_loses_nothing_and_repeats_no_effect(
    app: Todoke,
    database_url: str,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """OB-4, OB-6, OB-7, ID-5: 0 lost, 0 session effects twice, 0 stuck, recovery <= lease + 2 s.

    JB-1, JB-3, JB-5, JB-9: the same of jobs, with what follows them, their keys and their runs.
    """
    evidence = Evidence({**scenario.expected(), **job_scenario.expected()})
    with workers(database_url, tmp_path, SETTINGS) as band:
        _storm(app, band, evidence, counts.kills)
        until(lambda: _calm(app, band), 120)
        band.stop()
        evidence.called = band.calls()
        slowest = _slowest_recovery(app, band)
        kills = band.kills
    witness.collect(app.engine, app, evidence)
    _adopt_chained(evidence)
    again = sum(1 for one in evidence.witnessed if one.what == "claimed" and one.attempt > 1)
    record_property("kills", kills)
    record_property("events and jobs", len(evidence.published))
    record_property("rows claimed again", again)
    record_property("slowest recovery in seconds", round(slowest, 2))
    assert verify(evidence) == []
    assert kills >= counts.kills
    assert again > 0
    assert slowest <= LEASE + 2


def test_a_message_that_kills_its_process_is_found_and_its_neighbours_live(
    app: Todoke, database_url: str, tmp_path: Path
) -> None:
    """OB-7: dead after 3 lonely crashes; the 99 claimed along with it are all processed."""
    kinds = [Deadly(case=0), *(scenario.Paid(case=number) for number in range(1, 100))]
    random.Random(1).shuffle(kinds)
    with app.session() as session:
        app.publish_all(session, kinds)
    settings = {**SETTINGS, "worker.queues": {"default": 100}}
    with workers(database_url, tmp_path, settings) as band:
        while _living(app) > 0:
            if not band.alive:
                band.start()
            until(lambda: not band.alive or _living(app) == 0, 60)
        deaths = band.kills
        band.stop()
    with app.session() as session:
        letters = app.dead_letters.list(session).items
        effects = session.execute(text("SELECT count(*), count(DISTINCT event) FROM effects")).one()
    assert [(one.type, one.code, one.crashes) for one in letters] == [("deadly", "CRASHED", 3)]
    assert tuple(effects) == (99, 99)
    assert deaths == 4


def _storm(app: Todoke, band: Workers, evidence: Evidence, kills: int) -> None:
    """Publish all the while; kill half of the workers from outside, half at a named point.

    One worker is left alone, so that what is measured is the rescue and not the next start.
    """
    chance = random.Random(kills)
    band.start()
    band.spared = next(iter(band.alive))
    over = threading.Event()
    publisher = threading.Thread(target=_publish_until, args=(app, evidence, over))
    publisher.start()
    try:
        while band.kills < kills:
            while len(band.alive) < 4:
                armed = f"{chance.choice(POINTS)}:{chance.randint(1, 5)}"
                band.start(armed if chance.random() < 0.5 else "")
            over.wait(chance.random() * 0.2)
            if (victim := band.any(chance)) is not None and chance.random() < 0.7:
                band.kill(victim)
    finally:
        over.set()
        publisher.join()


def _calm(app: Todoke, band: Workers) -> bool:
    """No more kills from outside; those that were armed may still die, and are replaced."""
    while len(band.alive) < 2:
        band.start()
    return _living(app) == 0


def _publish_until(app: Todoke, evidence: Evidence, over: threading.Event) -> None:
    chance, number = random.Random(0), 0
    client = job_scenario.Client(app, chance)
    while not over.wait(0.005):
        number += 1
        if chance.random() < 0.3:
            with app.session() as session:
                note = client.enqueue(number, session)
            note(evidence, "ok")
            continue
        kind = chance.choices(list(scenario.KINDS), scenario.WEIGHTS)[0]
        wish = kind(case=number)
        keyed = chance.random() < 0.5
        with app.session() as session:
            entry = scenario.accept(app, session) if keyed else None
            message = app.publish(session, wish, settles=entry)
        body = wish.model_dump_json()
        published = Published(message.id.hex, kind.__name__, body, "ok", accepted=keyed)
        evidence.published.append(published)


def _living(app: Todoke) -> int:
    with app.session() as session:
        status = app.events.status(session)
        jobs = session.execute(select(func.count()).select_from(app.jobs_table.live)).scalar_one()
    return status.pending + status.processing + jobs


def _slowest_recovery(app: Todoke, band: Workers) -> float:
    """From a worker's death to the return of the last row it had in hand."""
    died = {str(death.pid): death.at for death in band.deaths}
    with app.session() as session:
        freed = session.execute(
            text("SELECT owner, max(at) FROM witness WHERE state = 'suspect' GROUP BY owner")
        )
        last = {witness._id(row[0]): float(row[1]) for row in freed}
        pids = {
            witness._id(row[0]): row[1].rpartition(":")[2]
            for row in session.execute(text("SELECT id, name FROM worker_names"))
        }
    waits = [at - died[pids[owner]] for owner, at in last.items() if pids.get(owner) in died]
    assert waits
    return max(waits)


def _adopt_chained(evidence: Evidence) -> None:
    """Events that handlers answered were published by the engine: known by where they are."""
    known = {one.event for one in evidence.published}
    found = {one.event for one in evidence.settled} - known
    evidence.published += [Published(one, "Mailed", "", "unknown") for one in sorted(found)]
