"""Looking at events, wherever they are by now: living, processed or dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Table, case, func, literal, null, select
from sqlalchemy.sql import Select

from todoke.both import both
from todoke.database import Database
from todoke.errors import InvalidOption, NotFound
from todoke.work.item import HELD
from todoke.work.table import WorkTable, in_state

STATUSES = ("PENDING", "PROCESSING", "PROCESSED", "DEAD")


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event, or one delivery of it, as people see it."""

    message_id: UUID
    status: str
    source: str
    context: str
    type: str
    version: int
    aggregate: str
    key: str
    handler: str | None
    attempts: int
    max_attempts: int | None
    error_code: str | None
    error_message: str | None
    note: str | None
    body: str
    created_at: datetime
    scheduled_at: datetime | None
    settled_at: datetime | None


@dataclass(frozen=True, slots=True)
class Status:
    """One screen of figures."""

    pending: int
    processing: int
    processed_last_minute: int
    dead: int
    oldest_pending: timedelta | None
    held_keys: int
    oldest_hold: timedelta | None
    behind_a_key: int
    workers: Sequence[Mapping[str, Any]]


class Events:
    """Reads what was published; merges limited reads instead of asking a view of everything."""

    def __init__(
        self,
        tables: Sequence[WorkTable],
        letters: Table,
        workers: Table,
        lanes: Table,
        holds: Table,
        database: Database,
    ) -> None:
        self._tables, self._letters, self._workers = tables, letters, workers
        self._lanes, self._holds = lanes, holds
        self._database = database

    @both
    def list(
        self,
        connection: Connection,
        *,
        status: str | None = None,
        type: str | None = None,
        key: str | None = None,
        limit: int = 50,
    ) -> Sequence[EventRecord]:
        """Newest first."""
        if status is not None and status not in STATUSES:
            raise InvalidOption("status", status, f"one of {', '.join(STATUSES)}.")
        wanted = {"type": type, "key": key}
        found = [
            EventRecord(*row)
            for everything, table in self._selects()
            for row in connection.execute(_narrowed(everything, table, wanted, status, limit))
        ]
        fitting = [one for one in found if status in (None, one.status)]
        return sorted(fitting, key=lambda one: one.created_at, reverse=True)[:limit]

    @both
    def get(self, connection: Connection, message_id: UUID) -> Sequence[EventRecord]:
        """The event and its deliveries; one alone where one handler took it in place."""
        found = [
            EventRecord(*row)
            for rows, table in self._selects()
            for row in connection.execute(rows.where(table.c.message_id == message_id))
        ]
        if not found:
            raise NotFound("event", message_id)
        return sorted(found, key=lambda one: (one.source != "event", one.handler or ""))

    @both
    def status(self, connection: Connection) -> Status:
        living = [self._living(connection, table.live) for table in self._tables]
        oldest = min((one.oldest for one in living if one.oldest is not None), default=None)
        now = connection.execute(select(self._database.now)).scalar_one()
        held_keys, since = self._held_keys(connection)
        return Status(
            pending=sum(one.total - one.taken for one in living),
            processing=sum(one.taken for one in living),
            processed_last_minute=sum(self._recent(connection, now, one) for one in self._tables),
            dead=self._dead(connection),
            oldest_pending=None if oldest is None else now - oldest,
            held_keys=held_keys,
            oldest_hold=None if since is None else now - since,
            behind_a_key=sum(self._behind(connection, one.live) for one in self._tables),
            workers=[dict(row._mapping) for row in connection.execute(self._worker_rows())],
        )

    def _selects(self) -> Sequence[tuple[Select[Any], Table]]:
        selects = []
        for table in self._tables:
            live, history = table.live, table.history
            state = case((live.c.owner.is_(None), "PENDING"), else_="PROCESSING")
            selects.append((_record(live, state, table.source, live.c.scheduled_at, None), live))
            processed = literal("PROCESSED")
            record = _record(history, processed, table.source, None, history.c.settled_at)
            selects.append((record, history))
        letters = self._letters
        dead = _record(letters, literal("DEAD"), None, None, letters.c.died_at)
        ours = letters.c.source.in_([table.source for table in self._tables])
        still = letters.c.closed_as.is_distinct_from("redriven")
        selects.append((dead.where(ours, still), letters))
        return selects

    def _living(self, connection: Connection, live: Table) -> Any:
        return connection.execute(
            select(
                func.count().label("total"),
                func.count(live.c.owner).label("taken"),
                func.min(live.c.created_at).label("oldest"),
            )
        ).one()

    def _recent(self, connection: Connection, now: datetime, table: WorkTable) -> int:
        since = table.history.c.settled_at >= now - timedelta(minutes=1)
        return int(connection.execute(select(func.count()).where(since)).scalar_one())

    def _dead(self, connection: Connection) -> int:
        still = self._letters.c.closed_at.is_(None)
        return int(connection.execute(select(func.count()).where(still)).scalar_one())

    def _held_keys(self, connection: Connection) -> tuple[int, datetime | None]:
        """How many keys wait for their head, and since when the first of them does."""
        holds = self._holds
        count, since = connection.execute(select(func.count(), func.min(holds.c.since))).one()
        return count, since

    def _behind(self, connection: Connection, live: Table) -> int:
        held = select(func.count()).where(in_state(live, HELD))
        return int(connection.execute(held).scalar_one())

    def _worker_rows(self) -> Select[Any]:
        workers, lanes = self._workers, self._lanes
        leased = select(func.count()).where(lanes.c.owner == workers.c.id).scalar_subquery()
        told = (workers.c.id, workers.c.name, workers.c.started_at, workers.c.lease_until)
        return select(*told, leased.label("lanes")).order_by(workers.c.started_at)


def _record(
    table: Table, status: Any, source: str | None, scheduled: Any, settled: Any
) -> Select[Any]:
    return select(
        table.c.message_id,
        status,
        table.c.source if source is None else literal(source),
        table.c.context,
        table.c.type,
        table.c.version,
        table.c.aggregate,
        table.c.key,
        table.c.handler,
        table.c.attempt - table.c.spared,
        table.c.max_attempts,
        table.c.error_code,
        table.c.error_message,
        table.c.note if "note" in table.c else null(),
        table.c.body,
        table.c.created_at,
        null() if scheduled is None else scheduled,
        null() if settled is None else settled,
    )


def _narrowed(
    rows: Select[Any],
    table: Table,
    wanted: Mapping[str, str | None],
    status: str | None,
    limit: int,
) -> Select[Any]:
    same = [table.c[name] == value for name, value in wanted.items() if value is not None]
    chosen = rows if status is None else _of_status(rows, table, status)
    return chosen.where(*same).order_by(table.c.created_at.desc()).limit(limit)


def _of_status(rows: Select[Any], table: Table, status: str) -> Select[Any]:
    """Narrow where the table can tell; the caller drops what is of another status."""
    if "state" not in table.c:
        return rows
    if status == "PENDING":
        return rows.where(table.c.owner.is_(None))
    return rows.where(table.c.owner.is_not(None))
