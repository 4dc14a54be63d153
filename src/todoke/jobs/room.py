"""All that jobs need of an application, built once."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, MetaData, Row, Table

from todoke.bell import Bell
from todoke.database import Database
from todoke.dead_letters.operations import Operations
from todoke.dead_letters.redrive import DeadLetters
from todoke.dead_letters.table import DeadLetterTables
from todoke.identity import Identities
from todoke.jobs.act import Jobs
from todoke.jobs.aftermath import Aftermath, Endings
from todoke.jobs.cancel import Cancelling
from todoke.jobs.chunks import Cursors
from todoke.jobs.enqueue import Enqueuing, JobWriter
from todoke.jobs.handler import JobHandler
from todoke.jobs.history import RunHistory
from todoke.jobs.in_child import ChildPool
from todoke.jobs.in_hand import RunsInHand
from todoke.jobs.pauses import Pauses
from todoke.jobs.schedule import Schedule
from todoke.jobs.schedules import Schedules
from todoke.jobs.surroundings import Surroundings
from todoke.jobs.table import JobTables, job_tables
from todoke.jobs.tick_writer import MakeSpec, TickWriter
from todoke.jobs.ticks import TickLedger
from todoke.jobs.whereabouts import Whereabouts
from todoke.jobs.why import Reasons
from todoke.limits import Bounds, queue_bounds
from todoke.settings import Settings
from todoke.telemetry import Tally
from todoke.work.destination_table import DestinationTables
from todoke.work.item import Failure, Item
from todoke.work.key_claim import KeyClaims
from todoke.work.key_slots import KeySlots
from todoke.work.lease import RowLeases
from todoke.work.strand import destination_of

Ring = Callable[[Connection, Collection[str]], None]


class JobRoom:
    """Tables, writers and the witness of jobs."""

    def __init__(
        self,
        metadata: MetaData,
        workers: Table,
        database: Database,
        identities: Identities,
        settings: Settings,
        handlers: Callable[[], Mapping[str, JobHandler]],
        ring: Ring,
        tally: Tally,
    ) -> None:
        self.tables: JobTables = job_tables(metadata, database)
        self.database: Database = database
        max_bytes = settings.number("payload.max_bytes")
        self.writer: JobWriter = JobWriter(self.tables, database, ring, tally)
        self.in_hand: RunsInHand = RunsInHand(database.clock)
        self.history: RunHistory = RunHistory(self.tables.runs, database, settings.env)
        self.endings: Endings = Endings(self.tables, self.writer, database, identities)
        self.worker_name: str = f"{socket.gethostname()}:{os.getpid()}"
        self.aftermath: Aftermath = Aftermath(
            self.history,
            self.endings,
            self.in_hand,
            identities,
            handlers,
            self.worker_name,
            max_bytes,
        )
        processes = settings.get("jobs.processes")
        most = None if processes is None else settings.number("jobs.processes")
        self.children: ChildPool = ChildPool(most)
        self.cursors: Cursors = Cursors(self.tables, database)
        self.key_slots: KeySlots = KeySlots(
            self.tables.work, self.tables.key_slots, workers, database, self._per_key
        )
        self.key_claims: KeyClaims = KeyClaims(self.tables.work, workers, database, self.key_slots)
        self._identities, self._handlers, self._max_bytes = identities, handlers, max_bytes
        self._workers, self._settings, self._ring = workers, settings, ring
        self.pauses: Pauses = Pauses(self.tables, database, handlers)
        self._ticks = TickLedger(self.tables, database, settings.text("name"))
        self._late_after = settings.seconds("jobs.late_after")

    def enqueuing(self, engine: Callable[[], Engine], bell: Callable[[], Bell]) -> Enqueuing:
        return Enqueuing(
            self.writer,
            self._identities,
            self._handlers,
            engine,
            bell,
            max_bytes=self._max_bytes,
        )

    def schedules(
        self,
        spec: MakeSpec,
        declared: Callable[[], Mapping[str, Schedule]],
        operations: Operations,
    ) -> Schedules:
        ticks = TickWriter(
            self._ticks, self.writer, self.history, self._identities, spec, self._late_after
        )
        return Schedules(declared, ticks, self.pauses, operations, self.database.clock)

    def operating(
        self,
        enqueuing: Enqueuing,
        dead_letters: DeadLetters,
        letters: DeadLetterTables,
        destinations: DestinationTables,
        leases: Callable[[], RowLeases],
    ) -> Jobs:
        """What people look at jobs with, and act on them by."""
        tables, database, settings = self.tables, self.database, self._settings
        return Jobs(
            tables,
            Whereabouts(tables.work, letters.letters),
            Surroundings(tables, destinations, self._workers, self.pauses, database, leases),
            Reasons(self._handlers, self._around, settings.seconds("outbox.poll")),
            self._handlers,
            enqueuing=enqueuing,
            cancelling=Cancelling(tables, self.endings, self.history, self._identities, database),
            pauses=self.pauses,
            dead_letters=dead_letters,
            operations=dead_letters.operations,
            identities=self._identities,
            database=database,
            queues=lambda: settings.queues,
            ring=self._ring,
        )

    def died(self, connection: Connection, source: str, item: Item, failure: Failure) -> None:
        """Told of every burial; of its own it tells the rest of what belongs to it."""
        if source == self.tables.work.source:
            self.aftermath.died(connection, item, failure)

    def reopened(self, connection: Connection, letter: Row[Any]) -> None:
        """A dead letter is tried again."""
        if letter.source == self.tables.work.source:
            self.endings.reopen(connection, letter)

    def freed(self, connection: Connection, worker: UUID) -> int:
        """A process is no more."""
        self.key_slots.free(connection, worker)
        return self.history.lose(connection, worker)

    def _around(self, queue: str) -> Bounds | None:
        return queue_bounds(queue, self._settings.queue_bounds(queue))

    def _per_key(self, stream: str) -> int | None:
        """How many of each key may run at once there; None where keys are not counted."""
        name = destination_of(stream)
        bounds = (one.bounds for one in self._handlers().values() if name and one.bounds)
        limits = (one.per_key for one in bounds if one.destination == name)
        return next((limit.at_once for limit in limits if limit is not None), None)
