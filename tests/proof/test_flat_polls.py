"""What is scheduled for later costs a worker that looks for work nothing: counted, not timed."""

from __future__ import annotations

from collections.abc import Callable

from tests.application import application
from tests.counts import Counts
from tests.proof.cost import cost
from tests.proof.test_flat_claims import settle_down
from todoke import Job, Todoke
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.slots import InlineSlots

FEW, PORTION = 100, 10_000


def test_what_is_scheduled_for_later_costs_a_poll_nothing(
    database_url: str, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """JB-1 OP-5: pages, rows or steps of a look for what is due, and of one for what is ready"""
    with application(database_url, clock=Clock()) as app:

        @app.job(name="tomorrow")
        def tomorrow(number: int) -> None: ...

        schedule(app, tomorrow, FEW)
        few = cost_of_a_poll(app)
        schedule(app, tomorrow, counts.scheduled - FEW)
        many = cost_of_a_poll(app)
    record_property("scheduled", counts.scheduled)
    record_property("per poll", f"{few} with {FEW}, {many} with {counts.scheduled}")
    for before, after in zip(few, many, strict=True):
        assert after <= before + 5  # to get to the first row of a deeper index


def schedule(app: Todoke, job: Job[int, None], count: int) -> None:
    for start in range(0, count, PORTION):
        with app.engine.begin() as connection:
            job.enqueue_all(connection, range(min(PORTION, count - start)), delay="1d")
    settle_down(app)


def cost_of_a_poll(app: Todoke) -> tuple[int, int]:
    """Of the stager's look, and of the worker's."""
    runtime = Runtime(app)
    worker = runtime.worker(InlineSlots(runtime.performer, app.event_loop))
    stager, *_ = runtime.keepers()
    with app.agents_engine.connect() as connection:
        runtime.membership.join(connection)
        worker.tick(connection)  # the first one looks at more than jobs
        staging = cost(connection, stager.stage)
        worker.look_around()
        polling = cost(connection, worker.tick)
        runtime.membership.leave(connection)
    return staging, polling
