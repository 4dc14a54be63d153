"""Drives the real ticks on SQLite through one random schedule, from one seed.

Every simulated process, handler call and client is a greenlet. The product's named crash points
are where they yield; the scheduler draws who goes on, which process is killed, which one sleeps
beyond its lease, which reply to a commit is lost, and how far the clock moves. A killed process is
abandoned where it stands: its open transactions are rolled back, all else it knew is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet  # type: ignore[import-untyped]
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.orm import Session

from tests.proof import job_scenario, scenario, witness
from tests.proof.evidence import Called, Evidence, Published, Told
from tests.proof.simulated import LEASE, Actor, Process, ReplyLost
from todoke import Settings, Todoke, crash
from todoke.databases.sqlite import prepare
from todoke.testing import Clock

SETTINGS = {
    "lease.duration": f"{LEASE}s",
    "lease.renew": "2s",
    "outbox.poll": "3s",
    "retry.default": {"delays": ["1s", "2s", "2s"]},
    "retry.job": {"delays": ["1s", "2s", "2s"]},
    **job_scenario.SETTINGS,
}


CROWDED = 4
"""One in so many schedules has events of one key only, and more of them."""
WORKING = 1
"""The schedule after each of those has jobs, and few events."""
FAULTS = {"crash": 0.02, "sleep": 0.03}
LOST_REPLIES = {
    "claim.after_commit": 0.02,
    "settle.after_commit": 0.3,
    "handler.after_commit": 0.1,
}
FAULTS_OF_JOBS = {"crash": 0.03, "sleep": 0.04, "all asleep": 0.3, **LOST_REPLIES}


EXPECTED = {**scenario.expected(), **job_scenario.expected()}


class Rollback(Exception):
    """A client changes its mind."""


class World:
    """One database, some processes, some clients, one source of chance."""

    def __init__(self, url: str, processes: int = 2) -> None:
        self.clock, self.random = Clock(), Random(0)
        self._hub = getcurrent()
        self.actors: list[Actor] = []
        self._lock: Connection | None = None
        self.evidence = Evidence(EXPECTED)
        self.has_jobs = self._is_calm = False
        self.processes = [self._process(url, n) for n in range(processes)]
        self.client_app = self._app(url, "client")
        job_scenario.declare(self.client_app, self._called, self._pause)
        self._jobs = job_scenario.Client(self.client_app, self.random)
        self.client_app.migrate()
        witness.install(self.client_app, by="actor()")
        with self.client_app.engine.begin() as connection:
            names = [row[0] for row in connection.execute(text(_TABLES))]
        self._tables = [name for name in names if name != "todoke_version"]
        self.faults = FAULTS
        self.hits: dict[str, int] = {}

    def run(self, seed: int) -> Evidence:
        """One schedule: publish under faults, then a quiet period, then collect."""
        self._reset(seed)
        crowded = seed % CROWDED == 0
        self.has_jobs, self._is_calm = seed % CROWDED == WORKING, False
        self.faults = FAULTS_OF_JOBS if self.has_jobs else FAULTS
        events = self.random.randint(3, 6) if crowded else self.random.randint(1, 4)
        before = crash.arm(self._passage)
        try:
            for process in self.processes:
                process.start()
            self.spawn("client", self._client(events, crowded=crowded), None)
            self._operating = self.spawn("operator", self._operator, None)
            self._storm(steps=40 * events)
            self._calm()
        finally:
            self._abandon_all()
            crash.arm(before)
        witness.collect(self.client_app.engine, self.client_app, self.evidence)
        self._name_writers()
        return self.evidence

    def close(self) -> None:
        for app in [self.client_app, *(one.app for one in self.processes)]:
            app.engine.dispose()

    # --- the scheduler -----------------------------------------------------------------------

    def _storm(self, steps: int) -> None:
        for step in range(steps):
            if self._is_over(step):
                return
            if self._happens("crash"):
                self._crash_one()
            if self._happens("sleep"):
                self._put_to_sleep()
            self._step()

    def _calm(self) -> None:
        """No more faults: everything must come to an end."""
        self._is_calm = True
        for step in range(5000):
            if self._is_over(step):
                return
            self._step()

    def _is_over(self, step: int) -> bool:
        """Looked at now and then: all was published, and nothing is living."""
        others = [one for one in self.actors if one is not self._operating]
        publishing = any(one.process is None for one in others)
        return step % 8 == 0 and not publishing and not self._anything_living()

    def _step(self) -> bool:
        ready = [one for one in self.actors if one.wakes_at <= self.now and not self._blocked(one)]
        if not ready:
            return self._advance()
        actor = self.random.choice(ready)
        actor.thread.switch()
        if actor.thread.dead:
            self.actors.remove(actor)
        return True

    def _advance(self) -> bool:
        waits = [one.wakes_at for one in self.actors if not self._blocked(one)]
        if not waits:
            return False
        self.clock.advance(f"{max(0.001, min(waits) - self.now):.6f}s")
        return True

    def _happens(self, fault: str) -> bool:
        return fault in self.faults and self.random.random() < self.faults[fault]

    def _blocked(self, actor: Actor) -> bool:
        return actor.waits_for_lock and self._lock is not None

    def _crash_one(self) -> None:
        process = self.random.choice(self.processes)
        self._abandon([one for one in self.actors if one.process is process])
        process.start()

    def _put_to_sleep(self) -> None:
        asleep = [self.random.choice(self.processes)]
        if self._happens("all asleep"):
            asleep = self.processes  # nobody is there who could declare the others dead
        until = self.now + LEASE * (1 + self.random.random())
        for one in self.actors:
            if one.process in asleep:
                one.wakes_at = until

    def _abandon(self, actors: Sequence[Actor]) -> None:
        for actor in actors:
            self.actors.remove(actor)
            if actor.thread:
                actor.thread.throw(GreenletExit)

    def _abandon_all(self) -> None:
        self._abandon(list(self.actors))

    # --- what actors call --------------------------------------------------------------------

    @property
    def now(self) -> float:
        return self.clock.monotonic()

    def spawn(self, name: str, run: Callable[[], None], process: Process | None) -> Actor:
        actor = Actor(name, process, greenlet(run, parent=self._hub))
        self.actors.append(actor)
        return actor

    def rest(self, until: float) -> None:
        self._current().wakes_at = until
        self._hub.switch()

    def shuffled(self, agents: list[Any]) -> list[Any]:
        return self.random.sample(agents, len(agents))

    def _passage(self, name: str) -> None:
        self.hits[name] = self.hits.get(name, 0) + 1
        if getcurrent() is self._hub:
            return
        self._hub.switch()
        if not self._is_calm and self._happens(name):
            raise ReplyLost

    def _pause(self) -> None:
        """A job takes its time."""
        self.rest(self.now + self.random.uniform(0, 2))

    def _current(self) -> Actor:
        return next(one for one in self.actors if one.thread is getcurrent())

    def _take_lock(self, connection: Connection) -> None:
        if getcurrent() is self._hub:
            return
        actor = self._current()
        while self._lock is not None:
            actor.waits_for_lock = True
            self._hub.switch()
        actor.waits_for_lock = False
        self._lock = connection

    def _give_lock(self, connection: Connection) -> None:
        if self._lock is connection:
            self._lock = None

    def _called(self, event_id: str, handler: str) -> str:
        token = f"{len(self.evidence.called)}"
        self.evidence.called.append(Called(event_id, handler, token))
        return token

    # --- clients -----------------------------------------------------------------------------

    def _client(self, events: int, *, crowded: bool) -> Callable[[], None]:
        def run() -> None:
            for number in range(events):
                if self.has_jobs and self.random.random() < 0.8:
                    self._enqueue(number, give_up=self.random.random() < 0.15)
                    continue
                weights = scenario.CROWDED_WEIGHTS if crowded else scenario.WEIGHTS
                kind = self.random.choices(list(scenario.KINDS), weights)[0]
                case = 0 if crowded else self.random.choice((0, number))
                keyed = self.random.random() < 0.5
                self._publish(kind(case=case), keyed, give_up=self.random.random() < 0.15)

        return run

    def _publish(self, wish: scenario.Proven, keyed: bool, *, give_up: bool) -> None:
        app = self.client_app
        try:
            with Session(app.engine) as session, session.begin():
                entry = scenario.accept(app, session) if keyed else None
                message = app.publish(session, wish, settles=entry)
                session.flush()
                if give_up:
                    raise Rollback
        except Rollback:
            pass
        kind, body = type(wish).__name__, wish.model_dump_json()
        told: Told = "fail" if give_up else "ok"
        key = str(wish.case)
        self.evidence.published.append(Published(message.id.hex, kind, body, told, key, keyed))

    def _enqueue(self, case: int, *, give_up: bool) -> None:
        try:
            with Session(self.client_app.engine) as session, session.begin():
                note = self._jobs.enqueue(case, session)
                session.flush()
                if give_up:
                    raise Rollback
        except Rollback:
            pass
        note(self.evidence, "fail" if give_up else "ok")

    def _operator(self) -> None:
        """A person who looks at the dead letters now and then, so that parked keys go on."""
        app = self.client_app
        while True:
            self.rest(self.now + 5)
            with app.engine.begin() as connection:
                act = app.dead_letters.resolve
                if self.random.random() < 0.3:
                    act = app.dead_letters.redrive
                act(connection, app.dead_letters.where(), by="operator", reason="looked at")

    # --- set-up ------------------------------------------------------------------------------

    def _process(self, url: str, number: int) -> Process:
        """Every second one settles beside its claims."""
        name = f"P{number}"
        app = self._app(url, name)
        scenario.register(app, self._called)
        job_scenario.declare(app, self._called, self._pause)
        return Process(self, name, app, settles_beside=number % 2 == 1)

    def _app(self, url: str, name: str) -> Todoke:
        engine = create_engine(url, connect_args={"check_same_thread": False})
        # Before todoke's own listeners: whoever begins waits here, not in SQLite.
        event.listen(engine, "begin", self._take_lock)
        event.listen(engine, "commit", self._give_lock)
        event.listen(engine, "rollback", self._give_lock)
        prepare(engine)

        @event.listens_for(engine, "connect")
        def introduce(raw: Any, _record: object) -> None:
            raw.create_function("actor", 0, lambda: name)
            raw.execute("PRAGMA synchronous=OFF")

        settings = Settings(SETTINGS, environment={})
        return Todoke(engine, name="proof", settings=settings, clock=self.clock, random=self.random)

    def _reset(self, seed: int) -> None:
        self.random.seed(seed)
        self.clock.set(Clock().now())
        # What is near zero is rounded as it was the first time, whatever was run before.
        self.clock._passed = timedelta(0)
        self.evidence = Evidence(EXPECTED)
        for process in self.processes:
            process.owners.clear()
            process.app.identities._last = 0
        self.client_app.identities._last = 0
        with self.client_app.engine.begin() as connection:
            for name in self._tables:
                connection.exec_driver_sql(f"DELETE FROM {name}")

    def _anything_living(self) -> bool:
        with self.client_app.engine.connect() as connection:
            raw = connection.connection.cursor()
            counts = " + ".join(f"(SELECT count(*) FROM todoke_{name})" for name in witness.PLACES)
            return bool(raw.execute(f"SELECT {counts}").fetchone()[0])

    def _name_writers(self) -> None:
        """Tell each writer by the owner it wrote for, where that owner was its own."""
        owners = {owner: one.name for one in self.processes for owner in one.owners}
        self.evidence.witnessed = [
            replace(one, by=one.owner if owners.get(one.owner or "") == one.by else one.by)
            for one in self.evidence.witnessed
        ]
        chained = {one.event for one in self.evidence.settled} | {
            one.event for one in self.evidence.living
        }
        known = {one.event for one in self.evidence.published}
        # What a handler answered is published by the engine: known by where it is found.
        for new in chained - known:
            found = Published(new, "Mailed", "", "unknown")
            self.evidence.published.append(found)


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
