"""Order within a key, with many writers, many workers, failures and kills."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import func, select, text

from tests.counts import Counts
from tests.proof import steps
from tests.proof.workers import Workers, workers
from tests.waiting import until
from todoke import Event, Todoke

WRITERS, WORKERS, WALKS = 8, 4, 2_000
BACKLOG = 20_000
SETTINGS: dict[str, object] = {
    "lease.duration": "1s",
    "lease.renew": "300ms",
    "lease.poison": 1_000,  # who is killed here is killed by chance
    "outbox.poll": "100ms",
    "retry.default": {"delays": ["20ms", "50ms", "50ms", "50ms"]},
}
TABLES = (
    "CREATE TABLE walks (walk INTEGER PRIMARY KEY, taken INTEGER NOT NULL)",
    "CREATE TABLE steps (id {serial}, walk INTEGER, number INTEGER)",
)
SERIAL = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgresql": "BIGSERIAL PRIMARY KEY",
    "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY",
}


@pytest.fixture
def app(database_url: str, tmp_path: Path) -> Iterator[Todoke]:
    with closing(steps.build(database_url, str(tmp_path), SETTINGS)) as app:
        app.migrate()
        with app.engine.begin() as connection:
            for table in TABLES:
                connection.execute(text(table.format(serial=SERIAL[app.database.kind])))
            rows = [{"walk": walk} for walk in range(WALKS)]
            connection.execute(text("INSERT INTO walks VALUES (:walk, 0)"), rows)
        yield app


def test_no_key_is_ever_delivered_out_of_order(
    app: Todoke,
    database_url: str,
    tmp_path: Path,
    counts: Counts,
    record_property: Callable[[str, object], None],
) -> None:
    """OB-9, OB-6: 8 writers, 4 workers, 5 % failing once, kill -9 among them: 0 inversions."""
    with workers(database_url, tmp_path, SETTINGS, "tests.proof.steps") as band:
        kills = _storm(app, band, counts.ordered)
        until(lambda: _calm(app, band), 600)
        band.stop()
    taken = _taken(app)
    delivered = _delivered(app, tmp_path)
    record_property("events", sum(taken.values()))
    record_property("deliveries", sum(map(len, delivered.values())))
    record_property("kills", kills)
    assert _inversions(delivered) == [], _told_of(_inversions(delivered), tmp_path)
    assert _missing(delivered, taken) == []
    assert kills >= 3


def _storm(app: Todoke, band: Workers, events: int) -> int:
    """Write, handle and kill at once."""
    for _ in range(WORKERS):
        band.start()
    over, room = threading.Event(), threading.Event()
    others = [
        threading.Thread(target=_kill_until, args=(band, over, max(1.0, events / 200_000))),
        threading.Thread(target=_pace_until, args=(app, over, room)),
    ]
    for one in others:
        one.start()
    try:
        with ThreadPoolExecutor(WRITERS) as pool:
            each = events // WRITERS
            writing = [pool.submit(_write, app, seed, each, room) for seed in range(WRITERS)]
            for writer in writing:
                writer.result()
        until(lambda: band.kills >= 3, 60)
    finally:
        over.set()
        for one in others:
            one.join()
    return band.kills


def _write(app: Todoke, seed: int, events: int, room: threading.Event) -> None:
    """Take some steps of one walk in a transaction; its row is locked, so numbers do not lie."""
    chance, written = random.Random(seed), 0
    while written < events:
        assert room.wait(600), "the workers have stopped"
        walk, count = chance.randrange(WALKS), chance.randint(1, 20)
        kind = steps.SharedStep if walk % 10 == 0 else steps.Step
        with app.session() as session:
            where = {"walk": walk, "count": count}
            session.execute(
                text("UPDATE walks SET taken = taken + :count WHERE walk = :walk"), where
            )
            last = session.execute(text("SELECT taken FROM walks WHERE walk = :walk"), where)
            end = int(last.scalar_one())
            taken: list[Event] = [
                kind(walk=walk, number=number) for number in range(end - count + 1, end + 1)
            ]
            app.publish_all(session, taken)
        written += count


def _kill_until(band: Workers, over: threading.Event, pause: float) -> None:
    chance = random.Random(7)
    while not over.wait(pause):
        if (victim := band.any(chance)) is not None:
            band.kill(victim)
            band.start()


def _pace_until(app: Todoke, over: threading.Event, room: threading.Event) -> None:
    """Writers are faster than workers that are killed all the time: let them wait now and then."""
    room.set()
    while not over.wait(0.5):
        if _waiting(app) < BACKLOG:
            room.set()
        else:
            room.clear()


def _calm(app: Todoke, band: Workers) -> bool:
    with app.session() as session:
        status = app.events.status(session)
    return status.pending + status.processing == 0


def _waiting(app: Todoke) -> int:
    with app.session() as session:
        rows = select(func.count()).select_from(app.outbox_table.live)
        return int(session.execute(rows).scalar_one())


def _taken(app: Todoke) -> dict[int, int]:
    with app.session() as session:
        rows = session.execute(text("SELECT walk, taken FROM walks WHERE taken > 0"))
        return {row.walk: row.taken for row in rows}


def _delivered(app: Todoke, folder: Path) -> dict[tuple[str, int], list[int]]:
    """By handler and walk: the numbers, in the order they came."""
    found: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
    for line in (folder / "steps").read_text().splitlines():
        handler, walk, number, *_ = line.split()
        found[handler, int(walk)].append(int(number))
    with app.session() as session:
        for walk, number in session.execute(text("SELECT walk, number FROM steps ORDER BY id")):
            found["record", walk].append(number)
    return found


def _inversions(delivered: dict[tuple[str, int], list[int]]) -> list[str]:
    """The next, or the same again after a failure or a crash; nothing else may follow."""
    return [
        f"{handler} of walk {walk}: {after} after {before}"
        for (handler, walk), numbers in delivered.items()
        for before, after in pairwise([0, *numbers])
        if after not in (before, before + 1)
    ]


def _told_of(inversions: list[str], folder: Path) -> str:
    """For whoever has to find the cause: when, and by which process and attempt, it was called."""
    walks = {line.split()[3].rstrip(":") for line in inversions}
    lines = (folder / "steps").read_text().splitlines()
    return "\n".join([*inversions, *(line for line in lines if line.split()[1] in walks)])


def _missing(delivered: dict[tuple[str, int], list[int]], taken: dict[int, int]) -> list[str]:
    wanted = {
        (handler, walk): last
        for walk, last in taken.items()
        for handler in (("follow", "record") if walk % 10 == 0 else ("walk",))
    }
    return [
        f"{place} ended at {delivered.get(place, [0])[-1]} of {last}"
        for place, last in wanted.items()
        if delivered.get(place, [0])[-1] != last
    ]
