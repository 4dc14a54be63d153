"""What jobs need beside their work table: keys, runs, cursors, batches, schedules, ticks."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, text

from todoke.database import LONG_TEXT, UNIQUE_ID, Database, Moment
from todoke.work.key_slots import index_turns, key_slot_table
from todoke.work.table import WorkTable, error_columns, work_table


@dataclass(frozen=True, eq=False)
class JobTables:
    """All tables of this room."""

    work: WorkTable
    key_slots: Table
    unique_keys: Table
    runs: Table
    cursors: Table
    cancellations: Table
    pauses: Table
    batches: Table
    schedules: Table
    ticks: Table


def job_tables(metadata: MetaData, database: Database) -> JobTables:
    work = work_table("job", "jobs", metadata, database, stamped=True)
    Index(f"{work.history.name}_handler", work.history.c.handler, work.history.c.settled_at)
    Index(f"{work.live.name}_message", work.live.c.message_id)
    index_turns(work.live, database)
    return JobTables(
        work,
        key_slot_table(metadata, database),
        _unique_keys(metadata, database),
        _runs(metadata, database),
        _cursors(metadata, database),
        _cancellations(metadata, database),
        _pauses(metadata, database),
        _batches(metadata, database),
        _schedules(metadata, database),
        _ticks(metadata, database),
    )


def _unique_keys(metadata: MetaData, database: Database) -> Table:
    """Whose a key is: for a time, or, without one, as long as the job lives."""
    keys = Table(
        f"{database.prefix}unique_keys",
        metadata,
        Column("context", String(100), primary_key=True),
        Column("key", String(255), primary_key=True),
        Column("job_id", UNIQUE_ID, nullable=False),
        Column("taken_at", Moment(), nullable=False),
        Column("expires_at", Moment()),
        schema=database.schema,
    )
    Index(f"{keys.name}_job", keys.c.job_id)
    timed = text("expires_at IS NOT NULL")
    Index(f"{keys.name}_expires", keys.c.expires_at, postgresql_where=timed, sqlite_where=timed)
    return keys


def _runs(metadata: MetaData, database: Database) -> Table:
    """Attempts that have more to tell than their settled row; ids are in the order of time."""
    runs = Table(
        f"{database.prefix}job_runs",
        metadata,
        Column("id", UNIQUE_ID, primary_key=True),
        Column("job_id", UNIQUE_ID, nullable=False),
        Column("context", String(100), nullable=False),
        Column("job", String(200), nullable=False),
        Column("env", String(100), nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("status", String(9), nullable=False),
        Column("worker", UNIQUE_ID),
        Column("worker_name", String(255)),
        Column("processed", BigInteger),
        Column("total", BigInteger),
        Column("metrics", LONG_TEXT),
        Column("log", LONG_TEXT),
        Column("result", LONG_TEXT),
        Column("note", LONG_TEXT),
        *error_columns(),
        Column("schedule", String(200)),
        Column("tick", Moment()),
        Column("started_at", Moment()),
        Column("finished_at", Moment()),
        schema=database.schema,
    )
    Index(f"{runs.name}_job", runs.c.job, runs.c.id)
    Index(f"{runs.name}_of", runs.c.job_id)
    running = text("status = 'RUNNING'")
    Index(
        f"{runs.name}_running",
        runs.c.status,
        runs.c.worker,
        postgresql_where=running,
        sqlite_where=running,
    )
    return runs


def _cursors(metadata: MetaData, database: Database) -> Table:
    """How far a job that works in chunks has come."""
    return Table(
        f"{database.prefix}job_cursors",
        metadata,
        Column("job_id", UNIQUE_ID, primary_key=True),
        Column("name", String(100), primary_key=True),
        Column("cursor", LONG_TEXT, nullable=False),
        Column("processed", BigInteger, nullable=False),
        Column("updated_at", Moment(), nullable=False),
        schema=database.schema,
    )


def _cancellations(metadata: MetaData, database: Database) -> Table:
    """Jobs that a person wants to end while they run."""
    return Table(
        f"{database.prefix}cancellations",
        metadata,
        Column("job_id", UNIQUE_ID, primary_key=True),
        Column("author", String(255), nullable=False),
        Column("reason", LONG_TEXT, nullable=False),
        Column("asked_at", Moment(), nullable=False),
        schema=database.schema,
    )


def _pauses(metadata: MetaData, database: Database) -> Table:
    """Queues, jobs and schedules that rest until a person says otherwise."""
    return Table(
        f"{database.prefix}pauses",
        metadata,
        Column("kind", String(10), primary_key=True),
        Column("name", String(255), primary_key=True),
        Column("author", String(255), nullable=False),
        Column("reason", LONG_TEXT, nullable=False),
        Column("since", Moment(), nullable=False),
        schema=database.schema,
    )


def _batches(metadata: MetaData, database: Database) -> Table:
    """Jobs that belong together, counted down; what follows once all have ended."""
    return Table(
        f"{database.prefix}batches",
        metadata,
        Column("id", UNIQUE_ID, primary_key=True),
        Column("context", String(100), nullable=False),
        Column("name", String(200)),
        Column("total", Integer, nullable=False),
        Column("pending", Integer, nullable=False),
        Column("failed", Integer, nullable=False, server_default="0"),
        Column("then_job", LONG_TEXT),
        Column("failed_job", LONG_TEXT),
        Column("created_at", Moment(), nullable=False),
        Column("ended_at", Moment()),
        schema=database.schema,
    )


def _schedules(metadata: MetaData, database: Database) -> Table:
    """How far the ticks of each schedule are accounted for; one row per application and name."""
    return Table(
        f"{database.prefix}schedules",
        metadata,
        Column("application", String(100), primary_key=True),
        Column("name", String(200), primary_key=True),
        Column("context", String(100), nullable=False),
        Column("job", String(200), nullable=False),
        Column("timetable", String(255), nullable=False),
        Column("zone", String(100), nullable=False),
        Column("policy", String(255), nullable=False),
        Column("accounted", Moment(), nullable=False),
        Column("last_job", UNIQUE_ID),
        Column("updated_at", Moment(), nullable=False),
        schema=database.schema,
    )


def _ticks(metadata: MetaData, database: Database) -> Table:
    """The tick ledger: what became of every due time; a row of missed ones may stand for many."""
    ticks = Table(
        f"{database.prefix}ticks",
        metadata,
        Column("application", String(100), primary_key=True),
        Column("schedule", String(200), primary_key=True),
        Column("due", Moment(), primary_key=True),
        Column("last_due", Moment()),
        Column("count", Integer, nullable=False, server_default="1"),
        Column("status", String(8), nullable=False),
        Column("reason", LONG_TEXT),
        Column("job_id", UNIQUE_ID),
        Column("noted_at", Moment(), nullable=False),
        schema=database.schema,
    )
    Index(f"{ticks.name}_noted", ticks.c.noted_at)
    waiting = text("status = 'WAITING'")
    Index(
        f"{ticks.name}_waiting",
        ticks.c.status,
        ticks.c.application,
        ticks.c.schedule,
        ticks.c.due,
        postgresql_where=waiting,
        sqlite_where=waiting,
    )
    return ticks
