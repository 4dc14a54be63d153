"""Leases belong to processes: a process registers under a fresh id at each start and renews.

No live lease means no live process, whatever it may think itself. `RowLeases` keeps them in the
database, by the database's time. SQLite's only writer may be a long handler, which a renewal
would have to wait for; there `FileLeases` takes a file lock, which the kernel gives back when
the process dies, and touches the file, which a stopped process cannot.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, Table, bindparam, delete, insert, select, update

from todoke import codec
from todoke.database import READ_ONLY, UNIQUE_ID, Database
from todoke.work.strand import context_of, queue_of

try:
    import fcntl
except ImportError:  # pragma: no cover - a system without flock keeps its leases in rows
    fcntl = None  # type: ignore[assignment]

Registers = Mapping[str, Mapping[str, str]]
"""context/type, or */type -> the handlers a process has for it, each with its stream."""
JOBS = "jobs"
"""Under this name a process registers its jobs; event types have a context before theirs."""


@dataclass(frozen=True, slots=True)
class Service:
    """What a process has handlers for, and what it claims."""

    registers: Registers
    queues: Mapping[str, int]
    contexts: Sequence[str] | None = None

    def serves(self, stream: str) -> bool:
        """None are all contexts."""
        context, queue = context_of(stream), queue_of(stream)
        return queue in self.queues and (self.contexts is None or context in self.contexts)


def registration(workers: Table, me: str = "me") -> Select[Any]:
    """A process's own row, locked against the rescuer's DELETE and not against its renewal."""
    this = workers.c.id == bindparam(me, type_=UNIQUE_ID)
    return select(workers.c.id).where(this).with_for_update(read=True, key_share=True)


def registered(registers: Registers, context: str, type: str) -> dict[str, str]:
    """The handlers of an event, by its context and type or by its type alone."""
    return {**registers.get(f"{context}/{type}", {}), **registers.get(f"*/{type}", {})}


class RowLeases:
    """Leases as rows, renewed by an UPDATE."""

    options: Mapping[str, Any] = {}
    """What a renewal asks of its connection."""

    def __init__(
        self,
        workers: Table,
        database: Database,
        seconds: float,
        *free: Callable[[Connection, UUID], object],
    ) -> None:
        self.seconds: float = seconds
        self._free = free
        me = workers.c.id == bindparam("me", type_=UNIQUE_ID)
        self._renew = (
            update(workers)
            .where(me)
            .values(lease_until=database.after("lease"), renewed_at=database.now)
        )
        self._drop = delete(workers).where(me)
        self._expired = (
            select(workers.c.id)
            .where(workers.c.lease_until < database.now)
            .with_for_update(skip_locked=True)
        )
        self._register = insert(workers).values(
            started_at=database.now,
            renewed_at=database.now,
            lease_until=database.after("lease"),
        )
        self._known = select(
            workers.c.id, workers.c.registers, workers.c.queues, workers.c.contexts
        )
        self._living = self._known.where(
            workers.c.lease_until >= database.now, workers.c.stopping.is_(False)
        )

    def register(self, connection: Connection, me: UUID, name: str, service: Service) -> None:
        contexts = service.contexts
        row = {
            "id": me,
            "name": name,
            "queues": codec.dump(dict(service.queues)),
            "contexts": None if contexts is None else codec.dump(list(contexts)),
            "registers": codec.dump({kind: dict(of) for kind, of in service.registers.items()}),
            "lease": self.seconds,
        }
        connection.execute(self._register, row)

    def renew(self, connection: Connection, me: UUID) -> bool:
        """False when the lease is lost: the process was declared dead."""
        written = connection.execute(self._renew, {"me": me, "lease": self.seconds}).rowcount
        return written == 1

    def deregister(self, connection: Connection, me: UUID) -> None:
        """End a process: whatever else it had leased ends with it."""
        connection.execute(self._drop, {"me": me})
        for free in self._free:
            free(connection, me)

    def expired(self, connection: Connection) -> list[UUID]:
        """Processes whose lease ran out; their rows stay locked until the transaction ends."""
        return list(connection.execute(self._expired).scalars())

    def living(self, connection: Connection) -> dict[UUID, Service]:
        """What each live process does."""
        return {row.id: _service(row) for row in connection.execute(self._living)}


class FileLeases(RowLeases):
    """Leases as locked files beside a SQLite database; the row only tells people."""

    # A renewal only reads: it must not wait for a handler that holds the only write lock.
    options: Mapping[str, Any] = {READ_ONLY: True}

    def __init__(
        self,
        workers: Table,
        database: Database,
        seconds: float,
        *free: Callable[[Connection, UUID], object],
        directory: Path,
    ) -> None:
        super().__init__(workers, database, seconds, *free)
        self._directory = directory
        self._held: dict[UUID, int] = {}

    def register(self, connection: Connection, me: UUID, name: str, service: Service) -> None:
        self._directory.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(self._file(me), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._held[me] = descriptor
        super().register(connection, me, name, service)

    def renew(self, connection: Connection, me: UUID) -> bool:
        try:
            os.utime(self._file(me))
        except FileNotFoundError:
            return False
        return True

    def deregister(self, connection: Connection, me: UUID) -> None:
        super().deregister(connection, me)
        self._remove(me)

    def expired(self, connection: Connection) -> list[UUID]:
        known = connection.execute(self._known).scalars()
        gone = [one for one in known if not self._is_alive(one)]
        for one in gone:
            self._remove(one)
        return gone

    def living(self, connection: Connection) -> dict[UUID, Service]:
        rows = connection.execute(self._known)
        return {row.id: _service(row) for row in rows if self._is_alive(row.id)}

    def _is_alive(self, one: UUID) -> bool:
        try:
            descriptor = os.open(self._file(one), os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            if one not in self._held:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return False
        except BlockingIOError:
            pass
        finally:
            fresh = time.time() - os.fstat(descriptor).st_mtime < self.seconds
            os.close(descriptor)
        return fresh

    def _remove(self, one: UUID) -> None:
        if (descriptor := self._held.pop(one, None)) is not None:
            os.close(descriptor)
        with contextlib.suppress(FileNotFoundError):
            self._file(one).unlink()

    def _file(self, one: UUID) -> Path:
        return self._directory / f"{one}.lease"


def leases_for(
    workers: Table,
    database: Database,
    seconds: float,
    *free: Callable[[Connection, UUID], object],
    beside: Path | None,
) -> RowLeases:
    """Files where SQLite has a file to lie beside, rows elsewhere."""
    if beside is not None and fcntl is not None:
        return FileLeases(workers, database, seconds, *free, directory=beside)
    return RowLeases(workers, database, seconds, *free)


def _service(row: Row[Any, Any, Any, Any]) -> Service:
    contexts = None if row.contexts is None else codec.load(row.contexts)
    queues, registers = codec.load_object(row.queues), codec.load_object(row.registers)
    return Service(registers, queues, contexts)
