"""What a waiting job depends on: who works, what rests, who holds what.

Everything is read when it is first asked for, and once for all jobs of one look.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Select, Table, bindparam, func, literal_column, select

from todoke.database import UNIQUE_ID, Database
from todoke.jobs.history import RUNNING
from todoke.jobs.pauses import Paused, Pauses
from todoke.jobs.table import JobTables
from todoke.jobs.whereabouts import Found
from todoke.work.destination_table import DestinationTables, State
from todoke.work.item import READY
from todoke.work.lease import JOBS, RowLeases, Service
from todoke.work.strand import UNORDERED, queue_of
from todoke.work.table import in_state

MOST_COUNTED = 1000


@dataclass(frozen=True, slots=True)
class LivingWorker:
    """A process that renews its lease."""

    id: UUID
    name: str
    service: Service

    def knows(self, job: str) -> bool:
        return job in self.service.registers.get(JOBS, {})


class Running(NamedTuple):
    """A job that a worker has told to run; what began a moment ago may not be told yet."""

    id: UUID
    job: str
    worker: UUID
    worker_name: str
    started_at: datetime | None
    stream: str
    strand: int


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds slots."""

    worker: UUID
    name: str
    slots: int


class Cancellation(NamedTuple):
    """A person's wish that a job ends."""

    by: str
    reason: str
    asked_at: datetime


class Surroundings:
    """The statements of a look around."""

    def __init__(
        self,
        tables: JobTables,
        destinations: DestinationTables,
        workers: Table,
        pauses: Pauses,
        database: Database,
        leases: Callable[[], RowLeases],
    ) -> None:
        live, runs, cancelled = tables.work.live, tables.runs, tables.cancellations
        self.pauses: Pauses = pauses
        self.leases: Callable[[], RowLeases] = leases
        self.now: Select[Any] = select(database.now)
        self.names: Select[Any] = select(workers.c.id, workers.c.name)
        self.running: Select[Any] = (
            select(
                runs.c.job_id,
                runs.c.job,
                runs.c.worker,
                runs.c.worker_name,
                runs.c.started_at,
                live.c.stream,
                live.c.strand,
            )
            .join(live, (live.c.message_id == runs.c.job_id) & (live.c.owner == runs.c.worker))
            .where(runs.c.status == literal_column(f"'{RUNNING}'"))
            .order_by(runs.c.started_at, runs.c.id)
        )
        known, slots = destinations.destinations.c, destinations.slots.c
        self.destination: Select[Any] = select(
            known.open_until, known.tokens, known.refilled_at, database.now
        ).where(known.name == bindparam("of_name"))
        self.slots: Select[Any] = (
            select(slots.owner, func.count())
            .where(slots.destination == bindparam("of_name"), slots.owner.is_not(None))
            .group_by(slots.owner)
        )
        keys = tables.key_slots.c
        self.key_slots: Select[Any] = (
            select(keys.owner, func.count())
            .where(keys.strand == bindparam("of_strand"))
            .group_by(keys.owner)
        )
        asked = (cancelled.c.author, cancelled.c.reason, cancelled.c.asked_at)
        this = cancelled.c.job_id == bindparam("of_job", type_=UNIQUE_ID)
        self.cancellation: Select[Any] = select(*asked).where(this)
        # Two ranges of the claim's index: not every database begins one behind a pair of values.
        waiting = (
            select(live.c.id)
            .where(in_state(live, READY), live.c.stream == bindparam("of_stream"))
            .where(live.c.lane == UNORDERED, live.c.owner.is_(None))
        )
        urgent = waiting.where(live.c.priority < bindparam("of_priority"))
        alike = waiting.where(live.c.priority == bindparam("of_priority"))
        self.before: list[Any] = [
            select(func.count()).select_from(rows.limit(bindparam("at_most")).subquery())
            for rows in (urgent, alike.where(live.c.id < bindparam("of_row")))
        ]

    def at(self, connection: Connection) -> Situation:
        return Situation(self, connection)


class Situation:
    """How things stand, as far as somebody asked."""

    def __init__(self, surroundings: Surroundings, connection: Connection) -> None:
        self._ask, self._connection = surroundings, connection
        self.destination: Callable[[str], State | None] = cache(self._destination)
        self.slot_holders: Callable[..., list[Holder]] = cache(self._slot_holders)
        self.key_holders: Callable[..., list[Holder]] = cache(self._key_holders)

    @cached_property
    def now(self) -> datetime:
        moment: datetime = self._connection.execute(self._ask.now).scalar_one()
        return moment

    @cached_property
    def paused(self) -> Paused:
        return self._ask.pauses.read(self._connection)

    @cached_property
    def worker_names(self) -> dict[UUID, str]:
        """Of all that are registered, those whose lease ran out among them."""
        return {row.id: row.name for row in self._connection.execute(self._ask.names)}

    @cached_property
    def workers(self) -> list[LivingWorker]:
        living = self._ask.leases().living(self._connection)
        names = self.worker_names
        return [LivingWorker(id, names.get(id, str(id)), one) for id, one in living.items()]

    @cached_property
    def running(self) -> list[Running]:
        """The longest first."""
        return [Running(*row) for row in self._connection.execute(self._ask.running)]

    def running_in(self, queue: str) -> list[Running]:
        """By workers that live."""
        living = {one.id for one in self.workers}
        return [
            one for one in self.running if queue_of(one.stream) == queue and one.worker in living
        ]

    def serving(self, stream: str) -> list[LivingWorker]:
        return [one for one in self.workers if one.service.serves(stream)]

    def _destination(self, name: str) -> State | None:
        """None for one that nobody has asked for room yet."""
        row = self._connection.execute(self._ask.destination, {"of_name": name}).first()
        return None if row is None else State(*row)

    def _slot_holders(self, destination: str) -> list[Holder]:
        rows = self._connection.execute(self._ask.slots, {"of_name": destination})
        return self._holders(rows.all())

    def _key_holders(self, strand: int) -> list[Holder]:
        rows = self._connection.execute(self._ask.key_slots, {"of_strand": strand})
        return self._holders(rows.all())

    def cancellation(self, id: UUID) -> Cancellation | None:
        row = self._connection.execute(self._ask.cancellation, {"of_job": id}).first()
        return None if row is None else Cancellation(*row)

    def before(self, found: Found) -> int:
        """How many of its stream come first; more than MOST_COUNTED are not counted to the end."""
        place = {"of_stream": found.stream, "of_priority": found.priority}
        urgent, alike = self._ask.before
        most = {"at_most": MOST_COUNTED + 1}
        count: int = self._connection.execute(urgent, {**place, **most}).scalar_one()
        if count <= MOST_COUNTED:
            here = {**place, **most, "of_row": found.row}
            count += self._connection.execute(alike, here).scalar_one()
        return count

    def _holders(self, rows: Sequence[Any]) -> list[Holder]:
        names = self.worker_names
        held = [Holder(owner, names.get(owner, str(owner)), count) for owner, count in rows]
        return sorted(held, key=lambda one: (-one.slots, one.name))
