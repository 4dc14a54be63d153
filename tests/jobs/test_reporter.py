"""What a process tells of the runs in its hands after it was declared dead: nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from tests.jobs.board import run_rows
from todoke import Run, Todoke
from todoke.job_runtime import job_keepers
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.slots import InlineSlots

Step = Callable[["Desk", Run], None]


class Desk:
    """A process with one job in hand, whose agents tick when a test says so."""

    def __init__(self, app: Todoke, clock: Clock) -> None:
        self.app, self.clock = app, clock
        self.seen: list[list[tuple[str, str | None]]] = []
        self._steps: list[Step] = []

        @app.job(name="long")
        def long(run: Run) -> None:
            steps, self._steps = self._steps, []
            for step in steps:
                step(self, run)
                self.seen.append(self.told())

        self._long = long
        self._runtime = Runtime(app)
        self._reporter = job_keepers(self._runtime)[0]

    def run(self, *steps: Step) -> None:
        """Let the job take these steps, at its first run."""
        self._steps = list(steps)
        with self.app.session() as session:
            self._long.enqueue(session)
        worker = self._runtime.worker(InlineSlots(self._runtime.performer, self.app.event_loop))
        with self.app.engine.connect() as connection:
            self._runtime.membership.join(connection)
            for _ in range(6):
                worker.tick(connection)
                self.clock.advance("1s")
                self._runtime.membership.tick(connection)

    def told(self) -> list[tuple[str, str | None]]:
        return [(row.status, row.error_code) for row in run_rows(self.app)]

    def tick(self, agent: Callable[[Connection], object]) -> None:
        with self.app.engine.connect() as connection:
            agent(connection)

    def report(self, run: Run) -> None:
        self.clock.advance("1s")
        run.progress(1, 2)
        self.tick(self._reporter.tick)

    def be_declared_dead(self, _run: Run) -> None:
        owner = self._runtime.membership.id
        assert owner is not None

        def rescue(connection: Connection) -> None:
            with connection.begin():
                for settling in self.app.settlings:
                    live = settling.table.live
                    freed = live.update().values(owner=None, state="ready")
                    connection.execute(freed.where(live.c.owner == owner))
                self._runtime.leases.deregister(connection, owner)

        self.tick(rescue)

    def join_again(self, _run: Run) -> None:
        self.tick(self._runtime.membership.tick)


@pytest.fixture
def desk(app: Todoke, clock: Clock) -> Desk:
    return Desk(app, clock)


LOST = ("FAILED", "WORKER_LOST")
DONE = ("SUCCEEDED", None)


def test_a_run_that_was_lost_with_its_worker_stays_lost(desk: Desk) -> None:
    """JB-5: its process goes on under another id, and tells nothing more of it"""
    desk.run(Desk.report, Desk.be_declared_dead, Desk.join_again, Desk.report)
    assert desk.seen == [[("RUNNING", None)], [LOST], [LOST], [LOST]]
    assert sorted(desk.told()) == [LOST, DONE]


@pytest.mark.parametrize(
    "steps",
    [(Desk.be_declared_dead, Desk.report), (Desk.be_declared_dead, Desk.join_again, Desk.report)],
    ids=["it does not know yet", "it goes on under another id"],
)
def test_nothing_stays_running_that_is_told_by_a_process_declared_dead(
    desk: Desk, steps: tuple[Step, ...]
) -> None:
    """JB-5: nobody would end such a row"""
    desk.run(*steps)
    assert desk.seen[-1] == []
    assert desk.told() == [DONE]
