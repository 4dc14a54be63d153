"""The part of a worker process that is about jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from todoke.jobs.chunks import Chunking
from todoke.jobs.forget import Forgetting
from todoke.jobs.reporter import Reporter, every
from todoke.jobs.resting import Resting
from todoke.jobs.router import OF_JOBS, JobRouter
from todoke.jobs.scheduler import Scheduler
from todoke.limits import queue_bounds
from todoke.work.destination import Outlet, within
from todoke.work.item import Item
from todoke.work.lanes import Lanes
from todoke.work.process import Agent
from todoke.work.strand import destination_of, queue_of
from todoke.work.strands import Strands
from todoke.work.stream import DestinationOf, Source

if TYPE_CHECKING:
    from todoke.app import Todoke
    from todoke.runtime import Runtime


def job_keepers(runtime: Runtime) -> list[Agent]:
    """Agents that a worker process has for its jobs; none where there are no jobs."""
    app, room = runtime.app, runtime.app.job_room
    if not runtime.handlers.jobs:
        return []
    keeps = app.settings.seconds("jobs.keep")
    forgetting = Forgetting(
        room.tables, app.letter_table, app.database, lambda: app.handlers.jobs, keeps
    )
    # In one agent, since each agent has a connection of its own.
    reporter = Reporter(
        room.tables,
        app.worker_table,
        room.history,
        room.in_hand,
        app.identities,
        runtime.membership.owner,
        room.worker_name,
        [
            runtime.resting.refresh,
            every(10.0, app.clock, room.key_slots.sweep),
            every(10.0, app.clock, forgetting.tick),
        ],
    )
    return [reporter, *([scheduler_of(runtime)] if runtime.handlers.schedules else [])]


def scheduler_of(runtime: Runtime) -> Scheduler:
    """Who enqueues recurring jobs."""
    schedules = list(runtime.handlers.schedules.values())
    return Scheduler(schedules, runtime.app.schedules.writer, poll=runtime.pace.poll)


def resting_of(app: Todoke) -> Resting:
    """What rests by people's word."""
    room = app.job_room
    source = room.tables.work.source
    return Resting(room.pauses, lambda: app.handlers.jobs, app.clock, source)


def outlets(app: Todoke) -> DestinationOf:
    """Where calls go: to their handler's destination, jobs within the bounds of their queue."""
    make, settings = app.destinations.destination, app.settings
    own = {name: make(bounds) for name, bounds in app.handlers.bounds.items()}
    said = {name: queue_bounds(name, settings.queue_bounds(name)) for name in settings.queues}
    queues = {name: make(bounds) for name, bounds in said.items() if bounds is not None}
    jobs = app.job_room.tables.work.source

    def outlet(source: str, stream: str) -> Outlet | None:
        around = queues.get(queue_of(stream)) if source == jobs else None
        return within(own.get(destination_of(stream)), around)

    return outlet


def job_source(runtime: Runtime, lanes: Lanes, grace: float) -> Source:
    """Where jobs are claimed from, and who takes them."""
    app = runtime.app
    room, settling, engines = app.job_room, app.settlings[2], app.engines
    chunking = Chunking(
        room.cursors, app.database, lambda: app.engine, lambda: engines.of_async_handlers
    )
    router = JobRouter(
        runtime.handlers.jobs,  # all: what is claimed here may have been enqueued to another queue
        runtime.desk(settling, grace, OF_JOBS),
        room.in_hand,
        app.identities,
        chunking,
        runtime.resting.job,
        app.enqueuing.spec_of,
        grace,
    )

    def left(items: Sequence[Item]) -> None:
        for item in items:
            room.in_hand.leave(item)

    return Source(
        app.claims[2],
        settling,
        router,
        Strands(settling, lanes),
        has_destinations=True,
        on_left=left,
        by_key=room.key_claims,
    )
