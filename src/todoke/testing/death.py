"""A worker process that dies at a named point, inside the test's own process."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

from sqlalchemy import select, update

from todoke import crash
from todoke.app import Todoke
from todoke.crash import Died
from todoke.database import reading
from todoke.errors import InvalidOption


class Death:
    """Ends the process at the point, so many times."""

    def __init__(self, app: Todoke, point: str, times: int) -> None:
        if point not in crash.points():
            raise InvalidOption("crash", point, f"the points are: {', '.join(crash.points())}.")
        if times < 1:
            raise InvalidOption("crash(times)", times, "must be at least 1.")
        self._app, self._point, self._times = app, point, times
        self._survivors = _registered(app)
        self._deaths = 0

    def __call__(self, passed: str) -> None:
        if passed == self._point and self.is_due:
            self._deaths += 1
            raise Died(self._point)

    @property
    def is_due(self) -> bool:
        """It has not died as often as it should."""
        return self._deaths < self._times

    def run_out(self) -> None:
        """The lease of the dead has run out; whoever comes next rescues what they held."""
        workers, clock = self._app.worker_table, self._app.clock
        ended = update(workers).where(workers.c.id.not_in(self._survivors))
        with self._app.engine.begin() as connection:
            connection.execute(ended.values(lease_until=clock.now() - timedelta(seconds=1)))

    def check(self) -> None:
        __tracebackhide__ = True
        if not self.is_due:
            return
        raise AssertionError(
            f"crash({self._point!r}): the worker died there {self._deaths} times, expected "
            f"{self._times}. Let the block do what passes this point: publish, or drain."
        )


@contextmanager
def armed(death: Death) -> Iterator[None]:
    before = crash.arm(death)
    try:
        yield
    finally:
        crash.arm(before)


def _registered(app: Todoke) -> Collection[UUID]:
    with app.engine.connect() as connection, reading(connection):
        return list(connection.execute(select(app.worker_table.c.id)).scalars())
