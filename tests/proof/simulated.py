"""A simulated worker process: the application's real agents as actors of one schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from greenlet import greenlet  # type: ignore[import-untyped]
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from todoke import Todoke
from todoke.jobs.reporter import Reporter
from todoke.runtime import Runtime
from todoke.work.call import Call
from todoke.work.lease import RowLeases
from todoke.work.settler import Beside, Settler
from todoke.work.slots import Finished

if TYPE_CHECKING:
    from tests.proof.simulator import World

LEASE = 3.0


class ReplyLost(OperationalError):
    """The database has committed, and the line broke before it could say so."""

    def __init__(self) -> None:
        broken = Exception("the line broke")
        super().__init__("COMMIT", None, broken, connection_invalidated=True)


@dataclass(eq=False)
class Actor:
    """Something that runs until it yields."""

    name: str
    process: Process | None
    thread: greenlet
    wakes_at: float = 0.0
    waits_for_lock: bool = False


class SimulatedSlots:
    """Each call becomes an actor of its process."""

    def __init__(self, process: Process) -> None:
        self._process, self._answers = process, list[Finished]()

    def start(self, calls: Sequence[Call]) -> None:
        for call in calls:
            self._process.world.spawn(f"{call.handler.name}", self._run(call), self._process)

    def finished(self) -> list[Finished]:
        answers, self._answers = self._answers, []
        return answers

    def withdraw(self) -> list[Call]:
        return []

    def close(self) -> None:
        pass

    def _run(self, call: Call) -> Callable[[], None]:
        def run() -> None:
            answer = self._process.runtime.performer.perform(call)
            self._answers.append((call, answer))
            self._process.wake()

        return run


@dataclass(eq=False)
class Process:
    """A worker process: the application's real agents, ticked in random order."""

    world: World
    name: str
    app: Todoke
    settles_beside: bool
    runtime: Runtime = field(init=False)
    owners: set[str] = field(default_factory=set)
    actor: Actor | None = None

    def __post_init__(self) -> None:
        free = self.app.freed_with_a_process
        leases = RowLeases(self.app.worker_table, self.app.database, LEASE, *free)
        self.runtime = Runtime(self.app, leases=leases)
        self._keepers = self.runtime.keepers()
        room = self.app.job_room
        self._reporter = Reporter(
            room.tables,
            self.app.worker_table,
            room.history,
            room.in_hand,
            self.app.identities,
            self.runtime.membership.owner,
            room.worker_name,
        )
        # Its actors share one thread, so none may wait there for another.
        self.runtime.performer.queues_up = False

    def start(self) -> None:
        """Start anew: nothing is left of what it knew but its statements."""
        self.runtime.membership.id = None
        self.runtime.membership.living = {}
        self.app.job_room.in_hand._runs.clear()
        # The rare search for rows of unknown owners would only hide what should not be there.
        self._keepers[1]._next_search = float("inf")
        self.actor = self.world.spawn(self.name, self._run, self)

    def wake(self) -> None:
        if self.actor is not None:
            self.actor.wakes_at = 0.0

    def _run(self) -> None:
        worker = self.runtime.worker(SimulatedSlots(self), self._beside())
        agents = [worker, *self._keepers, self.runtime.membership]
        if self.world.has_jobs:
            agents.append(self._reporter)
        due = dict.fromkeys(agents, 0.0)
        with self.app.engine.connect() as connection:
            self.runtime.membership.join(connection)
            self._note_owner()
        while True:
            with self._unless_it_breaks() as connection:
                while True:
                    for agent in self.world.shuffled(agents):
                        if agent is worker or due[agent] <= self.world.now:
                            rest = agent.tick(connection)
                            due[agent] = self.world.now + self._late(agent, rest)
                            self._note_owner()
                    self.world.rest(min(due.values()))

    def _beside(self) -> Beside | None:
        """Where its answers are written, with the profile `throughput`: an actor of its own."""
        if not self.settles_beside:
            return None
        beside = Beside(Settler(self.app.database), self.wake)

        def settle() -> None:
            while True:
                with self._unless_it_breaks() as connection:
                    while True:
                        self.world.rest(self.world.now + beside.tick(connection))

        settler = self.world.spawn(f"{self.name} settler", settle, self)

        def wake() -> None:
            slow = self.world.random.random() < 0.3
            settler.wakes_at = self.world.now + (self.world.random.uniform(0, 5) if slow else 0)

        beside.on_given = wake
        return beside

    @contextmanager
    def _unless_it_breaks(self) -> Iterator[Connection]:
        """A connection, until a reply gets lost on it; as in a loop, the next is tried later."""
        try:
            with self.app.engine.connect() as connection:
                yield connection
        except ReplyLost:
            self.world.rest(self.world.now + self.world.random.uniform(0, 1))

    def _late(self, agent: Any, rest: float) -> float:
        """Keepers are busy elsewhere now and then; the lease is renewed a little off its time."""
        if agent in self._keepers:
            return rest * self.world.random.uniform(1, 4)
        if agent is self.runtime.membership:
            return rest * self.world.random.uniform(0.7, 1.3)
        return rest

    def _note_owner(self) -> None:
        if (owner := self.runtime.membership.id) is not None:
            self.owners.add(owner.hex)
