"""What an application is made of, built in its order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import MetaData

from todoke.databases import open_database
from todoke.databases.engines import Engines
from todoke.dead_letters.bury import Burial
from todoke.dead_letters.followers import Followers
from todoke.dead_letters.redrive import DeadLetters
from todoke.dead_letters.table import dead_letter_tables
from todoke.handlers import Fate
from todoke.identity import Identities
from todoke.jobs.room import JobRoom
from todoke.ledger.ledger import Ledger
from todoke.metrics import Metrics
from todoke.outbox.publish import Outbox
from todoke.outbox.publishing import Publishing
from todoke.outbox.read import Events
from todoke.retention.archive import Archive
from todoke.retention.period import retention_of
from todoke.runtime import Runtime
from todoke.telemetry import Tally
from todoke.work.claim import Claims
from todoke.work.destination import Destinations
from todoke.work.destination_table import destination_tables
from todoke.work.hold import Holds
from todoke.work.lanes import LaneLeases
from todoke.work.settle import Settling
from todoke.work.slots import EventLoop
from todoke.work.table import hold_table, lane_table, work_table, worker_table

if TYPE_CHECKING:
    from todoke.app import Todoke


def build_rooms(app: Todoke) -> None:
    """Build all rooms around its clock, settings and address."""
    settings = app.settings
    app.database = open_database(
        app.url,
        app.clock,
        schema=settings.text("database.schema"),
        prefix=settings.text("database.prefix"),
    )
    database = app.database
    database.prepares = settings.flag("database.prepare")
    app.engines = Engines(
        app.database,
        app.address,
        app.given_engine,
        app.slots,
        # As long as its lease: what a process that stands still has locked goes along with it.
        partial(settings.seconds, "lease.duration"),
    )
    app.metadata = MetaData()
    app.database.declare(app.metadata)
    app.identities = Identities(app.clock, app.random.getrandbits)
    app.outbox_table = work_table("event", "outbox", app.metadata, app.database)
    app.inbox_table = work_table("delivery", "inbox", app.metadata, app.database)
    app.worker_table = worker_table(app.metadata, app.database)
    app.tally = Tally()
    app.job_room = JobRoom(
        app.metadata,
        app.worker_table,
        database,
        app.identities,
        settings,
        lambda: app.handlers.jobs,
        app.ring,
        app.tally,
    )
    app.jobs_table = app.job_room.tables.work
    letters = dead_letter_tables(app.metadata, app.database)
    app.letter_table = letters.letters
    app.ledger = Ledger(
        app.metadata,
        app.letter_table,
        app.database,
        settings,
        lambda: app.engine,
        app.identities.draw,
    )
    app.burial = Burial(
        letters,
        app.database,
        app.identities,
        app.name_for,
        [app.ledger.settlements.failed, app.job_room.died],
    )
    tables = [app.outbox_table, app.inbox_table, app.jobs_table]
    app.hold_table = hold_table(app.metadata, app.database)
    holds = {
        table.source: Holds(table, app.hold_table, letters.letters, app.database)
        for table in tables
    }
    app.claims = [Claims(table, app.worker_table, app.database) for table in tables]
    app.settlings = [
        Settling(
            table,
            app.database,
            app.burial,
            holds[table.source],
            Fate(lambda: app.handlers),
            app.job_room.aftermath if table is app.jobs_table else None,
        )
        for table in tables
    ]
    app.lane_table = lane_table(app.metadata, app.database)
    app.lane_leases = LaneLeases(app.lane_table, app.worker_table, app.database)
    destinations = destination_tables(app.metadata, app.database)
    app.destinations = Destinations(destinations, app.worker_table, app.database)
    app.freed_with_a_process = (
        app.lane_leases.leave,
        app.destinations.free,
        app.job_room.freed,
    )
    followers = Followers(tables, app.hold_table, app.database)
    app.dead_letters = DeadLetters(
        letters,
        tables,
        holds,
        followers,
        app.database,
        app.ring,
        app.check_body,
        [app.ledger.settlements.reopened, app.job_room.reopened],
    )
    app.archive = Archive(
        tables,
        letters.letters,
        app.ledger.table,
        followers,
        app.database,
        lambda: retention_of(app.settings, app.handlers.horizon),
        app.identities.draw,
    )
    app.events = Events(
        tables[:2],
        app.letter_table,
        app.worker_table,
        app.lane_table,
        app.hold_table,
        database,
    )
    app.metrics = Metrics(tables, app.claims, app.database, lambda: app.handlers, app.tally)
    app.outbox = Outbox(
        app.outbox_table,
        app.database,
        app.identities,
        max_bytes=settings.number("payload.max_bytes"),
        ring=app.ring,
        tally=app.metrics.tally,
    )
    app.publishing = Publishing(app.outbox, lambda: app.engine, lambda: app.bell)
    app.enqueuing = app.job_room.enqueuing(lambda: app.engine, lambda: app.bell)
    app.jobs = app.job_room.operating(
        app.enqueuing, app.dead_letters, letters, destinations, lambda: Runtime(app).leases
    )
    app.schedules = app.job_room.schedules(
        app.enqueuing.spec, lambda: app.handlers.schedules, app.dead_letters.operations
    )
    app.event_loop = EventLoop()
    app.providers = app.fresh_providers()
