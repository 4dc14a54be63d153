"""What runs an application: a worker process with its agents, or a drain in the caller's thread."""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import Connection, exists, make_url, or_, select

from todoke import crash
from todoke.bell import EVERYWHERE, Ear, Hints
from todoke.clock import SystemClock
from todoke.database import reading
from todoke.databases import schema
from todoke.databases.bells import ear_for
from todoke.databases.sqlite import in_memory
from todoke.errors import InvalidOption
from todoke.handlers import Handlers
from todoke.inbox.consumer import Consumer
from todoke.inbox.land import Landing
from todoke.job_runtime import job_keepers, job_source, outlets, resting_of, scheduler_of
from todoke.jobs.resting import Resting
from todoke.jobs.scheduler import Scheduler
from todoke.loop import Loop
from todoke.message import Event
from todoke.outbox.relay import Relay
from todoke.service import lease_files, renewal_of, service_of
from todoke.telemetry import Counts, log
from todoke.work.account import Account
from todoke.work.conclude import Conclusions
from todoke.work.desk import Desk, Own
from todoke.work.handler import Handler
from todoke.work.intake import Intake
from todoke.work.item import Item
from todoke.work.lanes import Lanes
from todoke.work.lease import RowLeases, Service, leases_for
from todoke.work.perform import Performer
from todoke.work.pressure import Pressure
from todoke.work.process import Membership, Process
from todoke.work.rescue import Rescuer
from todoke.work.settle import Settling
from todoke.work.settlement import Then
from todoke.work.settler import Beside, Settler
from todoke.work.slots import InlineSlots, Slots, WorkerSlots
from todoke.work.stage import Stager
from todoke.work.strands import Strands
from todoke.work.stream import Hands, Pace, Source
from todoke.work.table import WorkTable
from todoke.work.worker import Worker

if TYPE_CHECKING:
    from todoke.app import Todoke


class Runtime:
    """Builds the agents of one process around an application."""

    def __init__(self, app: Todoke, *, leases: RowLeases | None = None) -> None:
        settings = app.settings
        self.app = self._app = app
        self.handlers: Handlers = app.handlers
        self.counts: Counts = Counts()
        self._account = Account(app.metrics.tally, self.handlers.name_for)
        self.leases: RowLeases = leases or leases_for(
            app.worker_table,
            app.database,
            settings.seconds("lease.duration"),
            *app.freed_with_a_process,
            beside=lease_files(app),
        )
        self.pace: Pace = Pace(
            batch=settings.batch,
            overlaps=settings.profile == "throughput" and not app.database.one_writer,
            poll=settings.seconds("outbox.poll"),
            queues=settings.queues,
            shortest_poll=app.database.shortest_poll,
        )
        self.service: Service = service_of(self.handlers, self.pace.queues, settings.contexts)
        self.membership: Membership = Membership(
            self.leases, app.identities, self.service, app.clock, renew=renewal_of(settings)
        )
        self.conclusions: Conclusions = Conclusions(
            app.clock, app.random.random, self._then, app.ledger.settlements
        )
        self.performer: Performer = Performer(
            lambda: app.engine,
            lambda: app.engines.of_async_handlers,
            app.database,
            self.conclusions,
            app.providers,
            self.membership.holds_lease,
        )
        self._destination_of = outlets(app)
        self.resting: Resting = resting_of(app)
        self._process: Process | None = None

    # --- agents ------------------------------------------------------------------------------

    def worker(self, slots: Slots, beside: Beside | None = None) -> Worker:
        app, hands = self._app, Hands()
        holds = {one.table.source: one.holds for one in app.settlings}
        lanes = Lanes(app.lane_leases, holds, self._rivals)
        relay, sources = self._sources(lanes)
        intake = Intake(
            sources,
            lanes,
            hands,
            app.database,
            self.pace,
            streams=self.handlers.streams(self.service.serves),
            serves=self.service.serves,
            destination_of=self._destination_of,
            on_lanes=relay.in_place.forget,
            paused=self.resting.stream,
        )
        return Worker(
            sources,
            slots,
            app.database,
            self.membership.owner,
            self.conclusions,
            intake,
            hands,
            Pressure(self._destination_of),
            self.counts,
            self._account,
            beside,
        )

    def keepers(self) -> tuple[Stager, Rescuer]:
        app, settings = self._app, self._app.settings
        stager = Stager(
            self._tables,
            app.database,
            batch=1000,
            poll=self.pace.poll,
            ring=app.ring,
            on_ready=self._wake,
        )
        rescuer = Rescuer(
            app.settlings,
            app.worker_table,
            self.leases,
            app.lane_leases,
            app.database,
            app.burial,
            poison=settings.number("lease.poison"),
            poll=min(1.0, settings.seconds("lease.duration") / 3),
            counts=self.counts,
            account=self._account,
            on_rescue=self._wake,
        )
        return stager, rescuer

    # --- running -----------------------------------------------------------------------------

    def drain(self) -> None:
        with self.draining() as work:
            work()

    @contextmanager
    def draining(self) -> Iterator[Callable[[], None]]:
        """Be a worker in this thread, which works until nothing is due each time it is called."""
        worker = self.worker(InlineSlots(self.performer, self._app.event_loop))
        stager, rescuer = self.keepers()
        scheduler = scheduler_of(self)
        with crash.ending(self._app.providers.close), self._connect() as connection:
            self._check(connection)
            self.membership.join(connection)
            leaving = crash.ending(partial(self._leave, worker, connection))
            with leaving, self._keeping_lease():
                rescuer.tick(connection)
                yield partial(self._drain, connection, worker, stager, scheduler)

    def run(self) -> bool:
        app, settings = self._app, self._app.settings
        self.check()
        asked = self._listen_for_signals()
        spare_the_collector()
        process = self.start()
        while not asked.wait(0.5):
            if process.wants_recycling:
                log.warning("a handler hangs in this process: it drains and asks to be replaced")
                break
        ending = process.stop(settings.seconds("worker.drain_timeout"))
        app.providers.close()
        return ending.recycle

    def check(self) -> None:
        """Refuse a database that a worker cannot work with."""
        app = self._app
        if in_memory(app.url) and app.database.kind == "sqlite":
            raise InvalidOption(
                "database.url", "sqlite://", 'a worker needs a file. Write "sqlite:///shop.db".'
            )
        with self._connect() as connection:
            self._check(connection)

    def start(self) -> Process:
        """Start the agents' loops and return at once."""
        app, settings = self._app, self._app.settings
        cleaner = app.archive.cleaner(self.counts)
        slots = WorkerSlots(
            self.performer,
            app.event_loop,
            self._wake_loop,
            threads=settings.number("worker.threads"),
            coroutines=sum(self.pace.queues.values()),
        )
        beside = Beside(Settler(app.database), self._wake_loop) if self.pace.overlaps else None
        self._worker = self.worker(slots, beside)
        stager, rescuer = self.keepers()
        self._process = Process(
            self._worker,
            self.membership,
            [stager, rescuer, cleaner, *job_keepers(self)],
            self._ear(),
            app.agents_engine.connect,
            app.database,
            lease_seconds=settings.seconds("lease.duration"),
            beside=beside,
        )
        with self._connect() as connection:
            self.resting.refresh(connection)
        self._process.start()
        return self._process

    # --- parts -------------------------------------------------------------------------------

    @property
    def _tables(self) -> list[WorkTable]:
        app = self._app
        return [app.outbox_table, app.inbox_table, app.jobs_table]

    def _sources(self, lanes: Lanes) -> tuple[Relay, list[Source]]:
        app = self._app
        grace = app.settings.seconds("outbox.handler_grace")
        outbox, inbox, _ = app.settlings
        served = {
            name: handler
            for name, handler in self.handlers.by_name.items()
            if self.service.serves(handler.stream)
        }
        land = Landing(
            app.outbox_table,
            app.inbox_table,
            app.database,
            self.handlers.followers_for,
            app.ring,
            app.ledger.settlements.expect,
        )
        strands = Strands(outbox, lanes)
        relay = Relay(
            served,
            self.handlers.registers,
            self._living,
            self._living_now,
            self.desk(outbox, grace),
            land,
            self._has_deliveries,
            strands.runs.prepared,
            grace,
        )
        consumer = Consumer(served, self._living, self.desk(inbox, grace), grace)
        return relay, [
            Source(app.claims[0], outbox, relay, strands),
            Source(app.claims[1], inbox, consumer, Strands(inbox, lanes), has_destinations=True),
            job_source(self, lanes, grace),
        ]

    def _rivals(self, connection: Connection) -> Mapping[UUID, Service]:
        """The workers that live now, this one among them."""
        with reading(connection):
            return self.membership.look_around(connection)

    def _has_deliveries(self, handler: str) -> bool:
        """Some delivery of this handler waits, or lies parked among the dead letters."""
        live, letters = self._app.inbox_table.live, self._app.letter_table
        waiting = exists().where(live.c.handler == handler)
        parked = exists().where(letters.c.handler == handler, letters.c.closed_at.is_(None))
        with self._connect() as connection, reading(connection):
            return bool(connection.execute(select(or_(waiting, parked))).scalar_one())

    def desk(self, settling: Settling, grace: float, own: Own | None = None) -> Desk:
        app = self._app
        owner = self.membership.owner
        return Desk(settling, app.providers, self.conclusions, app.clock, owner, grace, own)

    def _then(self, events: Sequence[Event], handler: Handler, item: Item) -> Then:
        outbox = self._app.outbox
        rows = outbox.rows(outbox.messages(events, handler.context))
        return partial(outbox.write, rows=rows)

    def _living_now(self) -> set[UUID]:
        with self._connect() as connection, reading(connection):
            return set(self.membership.look_around(connection))

    def _living(self) -> dict[UUID, Service]:
        return self.membership.living

    @contextmanager
    def _keeping_lease(self) -> Iterator[None]:
        """Renew in a thread while this one handles; a test's clock stands still meanwhile."""
        app = self._app
        if not isinstance(app.clock, SystemClock) or in_memory(app.url):
            yield
            return
        loop = Loop("lease", self.membership.tick, app.agents_engine.connect, app.database)
        loop.start()
        try:
            yield
        finally:
            loop.stop()
            loop.join()

    def _leave(self, worker: Worker, connection: Connection) -> None:
        worker.hand_back(connection)
        self.membership.leave(connection)

    def _drain(self, on: Connection, worker: Worker, stager: Stager, scheduler: Scheduler) -> None:
        if self.membership.owner() is None:  # a test has moved its clock
            self.membership.tick(on)
        self.resting.refresh(on)
        scheduler.catch_up(on)
        self._work_until_idle(on, worker, stager)
        while scheduler.catch_up(on):
            self._work_until_idle(on, worker, stager)

    def _work_until_idle(self, connection: Connection, worker: Worker, stager: Stager) -> None:
        claimed = -1
        while claimed < self.counts["claimed"] or not worker.idle or stager.stage(connection):
            claimed = self.counts["claimed"]
            worker.look_around()
            # Only then again: streams that are half through their lanes would never end together.
            while worker.tick(connection) == 0.0:
                pass

    def _ear(self) -> Ear:
        app, straight = self._app, self._app.settings.get("database.listen_url")
        url = make_url(straight) if straight else None
        gap = app.settings.seconds("outbox.wake_gap")
        return ear_for(app.database, app.url, url, self._on_ring, gap=gap, poll=self.pace.poll)

    def _on_ring(self, hints: Hints) -> None:
        if self._process is not None:
            self._worker.wake(hints)
            self._process.wake()

    def _wake(self) -> None:
        self._on_ring(EVERYWHERE)

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


def spare_the_collector() -> None:
    """For a process that does nothing else: what is loaded by now is not looked at again.

    A claimed row is a handful of objects that die together. At Python's usual pace the garbage
    collector looks at all rows in hand several times, which costs as much as claiming them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, *gc.get_threshold()[1:])
