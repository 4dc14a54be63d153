"""Schedulers that die between any two statements while time passes, and others that go on.

A fuse burns down by one at each statement, each beginning and commit of a transaction, and each
named point; where it ends, the scheduler dies. Some die at a named point, wherever that comes.
What it knew is forgotten, another takes over.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, event, select

from tests.proof.tick_ledger import Evidence, Job, Plan, Tick
from todoke import Settings, Todoke, crash
from todoke.crash import Died
from todoke.jobs.run import Tick as TickOfRun
from todoke.jobs.scheduler import Scheduler
from todoke.jobs.ties import ties_of
from todoke.testing import Clock

LONGEST_LIFE = 120
PLANS = [
    Plan("allowed", 30, 0, {"every": "30s", "missed": "all", "cap": 20, "overlap": "allow"}),
    Plan("latest", 300, 0, {"cron": "*/5 * * * *"}, alone=True),
    Plan("queued", 120, 0, {"every": "2m", "missed": "skip", "overlap": "queue", "cap": 5}, True),
    Plan(
        "nightly", 86_400, 57_600, {"cron": "0 1 * * *", "tz": "Asia/Tokyo", "missed": "all"}, True
    ),
    Plan("argued", 420, 0, {"every": "7m", "overlap": "allow"}),
]
_EVENTS = ("begin", "commit")


class World:
    """One database, some schedulers, one clock."""

    def __init__(self, url: str, seed: int = 0) -> None:
        self.clock = Clock()
        settings = Settings({"name": "proof"}, environment={})
        self.app = Todoke(url, clock=self.clock, settings=settings)
        self.app.migrate()
        self.start = self.clock.now()
        _declare(self.app)
        self.places: Counter[str] = Counter()
        self.refusals = 0
        self.chance = Random(seed)
        self._fuse = threading.local()
        self._counting, self._lock = threading.Lock(), threading.Lock()
        self._ended: list[Job] = []
        self.overlaps: list[str] = []

    @property
    def deaths(self) -> int:
        return sum(self.places.values())

    # --- dying -------------------------------------------------------------------------------

    @contextmanager
    def burning(self) -> Iterator[None]:
        """Fuses burn down from here on."""
        engine, execute = self.app.engine, Connection.execute
        hooks = [(name, _hook(self._burn, name)) for name in _EVENTS]

        # Not by an event of SQLAlchemy's: who dies within one leaves a half-closed connection.
        def burning(connection: Connection, *told: Any, **options: Any) -> Any:
            self._burn("before a statement")
            answer = execute(connection, *told, **options)
            with _closing(answer):
                self._burn("after a statement")
            return answer

        for name, hook in hooks:
            event.listen(engine, name, hook)
        Connection.execute = burning  # type: ignore[assignment, method-assign]
        before = crash.arm(self._burn)
        try:
            yield
        finally:
            crash.arm(before)
            Connection.execute = execute  # type: ignore[method-assign]
            for name, hook in hooks:
                event.remove(engine, name, hook)

    def _burn(self, place: str) -> None:
        left = getattr(self._fuse, "left", None)
        if left is None:
            return
        self._fuse.left = left - 1
        if left == 1 or place == self._fuse.end:
            self._fuse.left = None
            with self._counting:
                self.places[place] += 1
            raise Died

    def live(self, steps: int, end: str = "") -> bool:
        """Be a scheduler for so many steps, or to the point `end`; True when it has died."""
        self._fuse.left, self._fuse.end = None, end
        try:
            with self.app.engine.connect() as connection:
                scheduler = self.scheduler()
                self._fuse.left = steps
                scheduler.catch_up(connection)
        except Died:
            return True
        except Exception as error:
            # As `Loop` does: another one writes, or was faster. It comes again.
            if not self.app.database.passes(error):
                raise
            with self._counting:
                self.refusals += 1
        finally:
            self._fuse.left = None
        return False

    def scheduler(self) -> Scheduler:
        schedules = list(self.app.handlers.schedules.values())
        return Scheduler(schedules, self.app.schedules.writer, poll=1.0)

    # --- what goes on meanwhile --------------------------------------------------------------

    def storm(self, deaths: int, schedulers: int, points: Sequence[str] = ()) -> None:
        """Let schedulers race and die until so many have, a part of them at these points."""
        failures: list[BaseException] = []

        def one(seed: int) -> None:
            chance = Random(seed)
            try:
                while self.deaths < deaths and not failures:
                    with self._lock:
                        self._pass_time(chance)
                        if chance.random() < 0.3:
                            self._end_some(chance)
                    end = chance.choice(points) if points and chance.random() < 0.2 else ""
                    self.live(chance.randint(1, LONGEST_LIFE), end)
            except BaseException as error:
                failures.append(error)

        threads = [
            threading.Thread(target=one, args=(self.chance.getrandbits(32),))
            for _ in range(schedulers)
        ]
        with self.burning():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]

    def calm(self) -> None:
        """No more deaths: all that is due is accounted for, and all jobs end."""
        with self.app.engine.connect() as connection:
            while self.scheduler().catch_up(connection) or self._end_some(None):
                pass

    def _pass_time(self, chance: Random) -> None:
        kind = chance.random()
        if kind < 0.01:
            self.clock.advance(timedelta(hours=chance.randint(1, 60)))
        elif kind < 0.5:
            self.clock.advance(timedelta(seconds=chance.randint(1, 120)))

    def _end_some(self, chance: Random | None) -> int:
        """Some jobs have run, or all of them."""
        live = self.app.jobs_table.live
        with self.app.engine.begin() as connection:
            rows = connection.execute(
                select(live.c.id, live.c.message_id, live.c.headers, live.c.body)
            ).all()
            jobs = {row.id: _job(row.message_id, row.headers, row.body) for row in rows}
            self._watch_overlaps(jobs.values())
            gone = [id for id in jobs if chance is None or chance.random() < 0.5]
            for start in range(0, len(gone), 500):
                some = gone[start : start + 500]
                connection.execute(delete(live).where(live.c.id.in_(some)))
        self._ended += [jobs[id] for id in gone]
        return len(gone)

    def _watch_overlaps(self, jobs: Any) -> None:
        living = Counter(job.schedule for job in jobs)
        self.overlaps += [
            f"{plan.name}: {living[plan.name]} jobs at once"
            for plan in PLANS
            if plan.alone and living[plan.name] > 1
        ]

    # --- what is left ------------------------------------------------------------------------

    def evidence(self) -> Evidence:
        told = ticks_of(self.app)
        return Evidence(PLANS, self.start, self.clock.now(), told, self._ended)


@contextmanager
def _closing(answer: Any) -> Iterator[None]:
    """A process that dies reads nothing more; its connection here goes to another."""
    try:
        yield
    except Died:
        answer.close()
        raise


def ticks_of(app: Todoke) -> list[Tick]:
    """The tick ledger as it is."""
    names = ("schedule", "due", "last_due", "count", "status", "job_id")
    with app.engine.connect() as connection:
        rows = connection.execute(select(app.job_room.tables.ticks)).mappings().all()
    return [Tick(*(row[name] for name in names)) for row in rows]


def jobs_of(app: Todoke) -> list[Job]:
    """All jobs that wait, run, or have run."""
    tables = (app.jobs_table.live, app.jobs_table.history)
    with app.engine.connect() as connection:
        rows = [
            row
            for table in tables
            for row in connection.execute(select(table.c.message_id, table.c.headers, table.c.body))
        ]
    return [_job(*row) for row in rows]


def _job(id: UUID, headers: str | None, body: str) -> Job:
    ties = ties_of(headers)
    assert ties.schedule is not None
    assert ties.tick is not None
    return Job(id, ties.schedule, ties.tick, body)


def _declare(app: Todoke) -> None:
    @app.job()
    def plain() -> None: ...

    @app.job()
    def argued(due: datetime) -> None: ...

    for plan in PLANS[:-1]:
        app.schedule(plain, name=plan.name, **plan.options)

    def argument(tick: TickOfRun) -> datetime:
        return tick.due

    app.schedule(argued, argument, **PLANS[-1].options)


def _hook(burn: Any, name: str) -> Any:
    return lambda *_told: burn(name)
