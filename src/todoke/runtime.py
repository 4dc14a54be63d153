"""What runs an application: a worker process with its agents, or a drain in the caller's thread."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import Connection

from todoke.clock import SystemClock
from todoke.databases import schema
from todoke.databases.sqlite import in_memory
from todoke.errors import InvalidOption
from todoke.inbox.consumer import Consumer
from todoke.inbox.land import Landing
from todoke.loop import Loop
from todoke.message import Event
from todoke.outbox.relay import Relay
from todoke.settings import DEFAULTS, Settings
from todoke.telemetry import Counts, log
from todoke.work.conclude import Conclusions
from todoke.work.desk import Desk
from todoke.work.handler import Handler
from todoke.work.item import Item
from todoke.work.lease import RowLeases, leases_for
from todoke.work.perform import Performer
from todoke.work.process import Membership, Process
from todoke.work.rescue import Rescuer
from todoke.work.settle import Settling, Then
from todoke.work.slots import InlineSlots, Slots, WorkerSlots
from todoke.work.stage import Stager
from todoke.work.table import WorkTable
from todoke.work.worker import Pace, Source, Worker

if TYPE_CHECKING:
    from todoke.app import Todoke


class Runtime:
    """Builds the agents of one process around an application."""

    def __init__(self, app: Todoke, *, leases: RowLeases | None = None) -> None:
        settings = app.settings
        self._app, self.handlers, self.counts = app, app.handlers, Counts()
        self.leases = leases or leases_for(
            app.worker_table, app.database, settings.seconds("lease.duration"), _beside(app)
        )
        self.pace = Pace(
            batch=settings.number("outbox.batch"),
            poll=settings.seconds("outbox.poll"),
            queues=settings.queues,
        )
        self.membership = Membership(
            self.leases,
            app.identities,
            dict(self.pace.queues),
            self.handlers.registers,
            renew=_renewal(settings),
        )
        self.conclusions = Conclusions(app.clock, app.random.random, self._then)
        self.performer = Performer(
            lambda: app.engine,
            lambda: app.async_engine,
            app.database,
            self.conclusions,
            app.providers,
        )
        self._process: Process | None = None

    # --- agents ------------------------------------------------------------------------------

    def worker(self, slots: Slots) -> Worker:
        return Worker(
            self._sources(),
            slots,
            self._app.database,
            self.membership.owner,
            self.conclusions,
            self.pace,
            self.counts,
        )

    def keepers(self) -> tuple[Stager, Rescuer]:
        app, settings = self._app, self._app.settings
        stager = Stager(
            self._tables, app.database, batch=1000, poll=self.pace.poll, on_ready=self._wake
        )
        rescuer = Rescuer(
            self._tables,
            app.worker_table,
            self.leases,
            app.database,
            app.burial,
            poison=settings.number("lease.poison"),
            poll=min(1.0, settings.seconds("lease.duration") / 3),
            counts=self.counts,
            on_rescue=self._wake,
        )
        return stager, rescuer

    # --- running -----------------------------------------------------------------------------

    def drain(self) -> None:
        worker = self.worker(InlineSlots(self.performer, self._app.event_loop))
        stager, rescuer = self.keepers()
        try:
            with self._connect() as connection:
                self._check(connection)
                self.membership.join(connection)
                lease = self._keep_lease()
                try:
                    rescuer.tick(connection)
                    self._work_until_idle(connection, worker, stager)
                finally:
                    lease.stop()
                    lease.join()
                    worker.hand_back(connection)
                    self.membership.leave(connection)
        finally:
            self._app.providers.close()

    def run(self) -> bool:
        app, settings = self._app, self._app.settings
        if in_memory(app.url) and app.database.kind == "sqlite":
            raise InvalidOption("database.url", "sqlite://", "a worker needs a database file.")
        with self._connect() as connection:
            self._check(connection)
        asked = self._listen_for_signals()
        process = self.start()
        while not asked.wait(0.5):
            if process.wants_recycling:
                log.warning("a handler hangs in this process: it drains and asks to be replaced")
                break
        ending = process.stop(settings.seconds("worker.drain_timeout"))
        app.providers.close()
        return ending.recycle

    def start(self) -> Process:
        """Start the agents' loops and return at once."""
        app, settings = self._app, self._app.settings
        slots = WorkerSlots(
            self.performer,
            app.event_loop,
            self._wake_loop,
            threads=settings.number("worker.threads"),
            coroutines=sum(self.pace.queues.values()),
        )
        self._worker = self.worker(slots)
        stager, rescuer = self.keepers()
        self._process = Process(
            self._worker,
            self.membership,
            [stager, rescuer],
            app.agents_engine.connect,
            app.database,
            lease_seconds=settings.seconds("lease.duration"),
        )
        self._process.start()
        return self._process

    # --- parts -------------------------------------------------------------------------------

    @property
    def _tables(self) -> list[WorkTable]:
        return [self._app.outbox_table, self._app.inbox_table]

    def _sources(self) -> list[Source]:
        app = self._app
        grace = app.settings.seconds("outbox.handler_grace")
        outbox, inbox = app.settlings
        land = Landing(app.outbox_table, app.inbox_table, app.database)
        relay = Relay(
            self.handlers.by_name,
            self.handlers.registers,
            self._living,
            self._living_now,
            self._desk(outbox, grace),
            land,
            grace,
        )
        consumer = Consumer(self.handlers.by_name, self._living, self._desk(inbox, grace), grace)
        return [
            Source(app.claims[0], app.settlings[0], relay),
            Source(app.claims[1], app.settlings[1], consumer),
        ]

    def _desk(self, settling: Settling, grace: float) -> Desk:
        app = self._app
        owner = self.membership.owner
        return Desk(settling, app.providers, self.conclusions, app.clock, owner, grace)

    def _then(self, events: Sequence[Event], handler: Handler, item: Item) -> Then:
        outbox = self._app.outbox
        messages = [outbox.message(event, handler.context) for event in events]
        rows = [outbox.row(message) for message in messages]
        return partial(outbox.write, rows=rows)

    def _living_now(self) -> set[UUID]:
        with self._connect() as connection, connection.begin():
            self.membership.living = self.leases.living(connection)
        return set(self.membership.living)

    def _living(self) -> dict[UUID, dict[str, list[str]]]:
        return self.membership.living  # type: ignore[return-value]

    def _keep_lease(self) -> Loop:
        """Renew in a thread while this one handles; a test's clock stands still meanwhile."""
        app = self._app
        loop = Loop("lease", self.membership.tick, app.agents_engine.connect, app.database)
        if isinstance(app.clock, SystemClock) and not in_memory(app.url):
            loop.start()
        return loop

    def _work_until_idle(self, connection: Connection, worker: Worker, stager: Stager) -> None:
        found = True
        while found or not worker.idle or stager.stage(connection):
            worker.wake()
            found = worker.tick(connection) == 0.0

    def _wake(self) -> None:
        if self._process is not None:
            self._worker.wake()
            self._process.wake()

    def _wake_loop(self) -> None:
        if self._process is not None:
            self._process.wake()

    def _connect(self) -> Connection:
        return self._app.engine.connect()

    def _check(self, connection: Connection) -> None:
        with connection.begin():
            schema.check(connection, self._app.database)

    def _listen_for_signals(self) -> threading.Event:
        """Set by the first signal to stop; a second one is impatient."""
        asked = threading.Event()

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            if asked.is_set() and self._process is not None:
                self._process.hurry()
            asked.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, on_signal)
        return asked


def _renewal(settings: Settings) -> float:
    renew, lease = settings.seconds("lease.renew"), settings.seconds("lease.duration")
    if settings.get("lease.renew") == DEFAULTS["lease.renew"]:
        return min(renew, lease / 3)
    if renew >= lease:
        raise InvalidOption(
            "lease.renew",
            settings.get("lease.renew"),
            f"must be shorter than the lease, {lease:g} s.",
        )
    return renew


def _beside(app: Todoke) -> Path | None:
    if app.database.kind != "sqlite" or in_memory(app.url):
        return None
    return Path(f"{app.url.database}-workers").absolute()
