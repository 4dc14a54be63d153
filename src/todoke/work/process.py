"""One worker process: its lease, its agents, and an orderly end."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from todoke import crash
from todoke.bell import Ear
from todoke.clock import Clock
from todoke.database import Database
from todoke.identity import Identities
from todoke.loop import Loop, Tick
from todoke.telemetry import log
from todoke.work.lease import RowLeases, Service
from todoke.work.settler import Beside
from todoke.work.worker import Worker


class Agent(Protocol):
    def tick(self, connection: Connection) -> float: ...


class Membership:
    """This process among the workers: registered under a fresh id, renewed while it lives."""

    def __init__(
        self,
        leases: RowLeases,
        identities: Identities,
        service: Service,
        clock: Clock,
        *,
        renew: float,
    ) -> None:
        self._leases, self._identities = leases, identities
        self._service, self._clock = service, clock
        self._renew = renew
        self._renewed: float | None = None
        self.is_ticking: Callable[[], bool] = lambda: True
        self.id: UUID | None = None
        self.living: dict[UUID, Service] = {}

    def owner(self) -> UUID | None:
        """This process's id; None as long as its lease is in doubt, so that nothing is begun."""
        return self.id if self.id is not None and self.holds_lease(self.id) else None

    def holds_lease(self, owner: UUID) -> bool:
        """A process that was stopped for too long must not begin with what it still has in hand."""
        if owner != self.id:
            return False
        renewed = self._renewed
        return renewed is None or self._clock.monotonic() - renewed < self._leases.seconds

    def look_around(self, connection: Connection) -> dict[UUID, Service]:
        """Who else is alive by now."""
        self.living = self._leases.living(connection)
        return self.living

    def join(self, connection: Connection) -> None:
        fresh, before = self._identities.draw(), self._clock.monotonic()
        name = f"{socket.gethostname()}:{os.getpid()}"
        with connection.begin():
            self._leases.register(connection, fresh, name, self._service)
            self.look_around(connection)
        self._renewed, self.id = before, fresh

    def tick(self, connection: Connection) -> float:
        """Renew; a process that was declared dead starts again under a new id."""
        before = self._clock.monotonic()
        if self.id is None:
            self.join(connection)
        elif self.is_ticking():
            self._renew_or_rejoin(connection)
        else:
            log.error("the worker's loop has stopped ticking: its lease is not renewed")
            return self._renew
        self._renewed = before
        return self._renew

    def leave(self, connection: Connection) -> None:
        if self.id is not None:
            with connection.begin():
                self._leases.deregister(connection, self.id)
            self.id = None

    def _renew_or_rejoin(self, connection: Connection) -> None:
        assert self.id is not None  # noqa: S101
        with connection.execution_options(**self._leases.options).begin():
            renewed = self._leases.renew(connection, self.id)
            self.look_around(connection)
        crash.point("lease.after_renewal")
        if not renewed:
            log.error("worker %s lost its lease: what it holds belongs to others now", self.id)
            self.id = None
            self.join(connection)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended: everything finished, something handed back, or asked to be replaced."""

    handed_back: bool
    recycle: bool


class Process:
    """Runs the agents in loops until told to stop."""

    def __init__(
        self,
        worker: Worker,
        membership: Membership,
        keepers: Sequence[Agent],
        ear: Ear,
        connect: Callable[[], Connection],
        database: Database,
        *,
        lease_seconds: float,
        beside: Beside | None = None,
    ) -> None:
        self._worker, self._membership, self._connect = worker, membership, connect
        self.ear = ear
        self._database, self._lease_seconds = database, lease_seconds
        self._work = self._loop("worker", worker.tick)
        self._needed = [self._work, self._loop("lease", membership.tick)]
        if beside is not None:
            settler = self._loop("settler", beside.tick)
            beside.on_given = settler.wake
            self._needed.append(settler)
        self._keepers = [
            self._loop(f"keeper-{n}", keeper.tick) for n, keeper in enumerate(keepers, 1)
        ]
        membership.is_ticking = self._is_ticking
        self._hurried = threading.Event()

    @property
    def wants_recycling(self) -> bool:
        """A hung handler's thread cannot be ended, only its process can."""
        return self._worker.hung > 0

    def start(self) -> None:
        with self._connect() as connection:
            self._membership.join(connection)
        for loop in (*self._needed, *self._keepers):
            loop.start()
        self.ear.start()

    def wake(self) -> None:
        """Look for work now: something was published, readied or answered."""
        self._work.wake()

    def hurry(self) -> None:
        """Do not wait for handlers any longer."""
        self._hurried.set()

    def stop(self, drain_seconds: float) -> Ending:
        """Claim no more, let handlers end until the time is up, hand the rest back, leave."""
        self.ear.stop()
        self._worker.stopping = True
        self._work.wake()
        for keeper in self._keepers:
            keeper.stop()
        finished = self._drain(drain_seconds)
        for loop in self._needed:
            loop.stop()
        for loop in (*self._needed, *self._keepers):
            loop.join(5)
        # A claim that was under way at the last look has come back since.
        finished = finished and self._worker.idle
        try:
            with self._connect() as connection:
                if not finished:
                    self._worker.hand_back(connection)
                self._membership.leave(connection)
        except DBAPIError as error:
            log.error("could not hand back in order, the lease will run out instead: %s", error)
        self._worker.close()
        return Ending(handed_back=not finished, recycle=self.wants_recycling)

    def _drain(self, seconds: float) -> bool:
        clock = self._database.clock
        until = clock.monotonic() + seconds
        while not self._worker.idle:
            left = until - clock.monotonic()
            if left <= 0 or self._hurried.is_set():
                return False
            self._work.wake()
            self._hurried.wait(min(left, 0.05))
        return True

    def _loop(self, name: str, tick: Tick) -> Loop:
        return Loop(name, tick, self._connect, self._database)

    def _is_ticking(self) -> bool:
        still = self._database.clock.monotonic() - self._work.last_tick
        return still < 2 * self._lease_seconds + 5
