"""An application in a test's hands: a database of its own, a clock that moves when told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    contextmanager,
)
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from todoke.app import Todoke
from todoke.crash import Died
from todoke.database import reading
from todoke.duration import Duration, duration
from todoke.errors import InvalidOption
from todoke.jobs.job import ABSENT, Job
from todoke.jobs.records import RunRecord
from todoke.message import Event
from todoke.operate import DeadLetter
from todoke.testing import enqueued as jobs
from todoke.testing.clock import Clock
from todoke.testing.death import Death, armed
from todoke.testing.published import fitting, instead, published
from todoke.testing.redelivery import redeliver
from todoke.testing.story import story
from todoke.testing.throwaway import Tables, djangos, emptied, throwaway
from todoke.testing.travel import travel
from todoke.wish import Wish
from todoke.work.handler import parameters_of

A = TypeVar("A")
E = TypeVar("E", bound=Event)
R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V")


class Harness:
    """`with Harness(app) as todoke:` puts an application on a database that nobody else has.

    Without `database` that is a SQLite file which is thrown away; an address of PostgreSQL or
    MariaDB is migrated once and emptied before each test. `tables` are the application's own. In a
    Django project it is the database of Django's tests. At the end the application is again as it
    was.
    """

    def __init__(self, app: Todoke, *, database: str | None = None, tables: Tables = None) -> None:
        self.app = app
        self._url, self._tables = database, tables
        self._ends = ExitStack()
        self._death: Death | None = None
        self._clock: Clock | None = None

    def __enter__(self) -> Harness:
        if any(there.clock is self.app.clock for there in self.app.places.values()):
            raise InvalidOption("Harness", self.app.name, "it is in one already: leave that first.")
        self._clock = self._ends.enter_context(self._there())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ends.__exit__(kind, error, traceback)

    def _there(self) -> AbstractContextManager[Clock]:
        if self._url is not None:
            return emptied(self.app, self._url, self._tables)
        return djangos(self.app) if self.app.is_djangos else throwaway(self.app, self._tables)

    @property
    def clock(self) -> Clock:
        """Stands still until the test moves it."""
        if self._clock is None:
            raise InvalidOption("Harness", "clock", "write `with Harness(app) as …:` first.")
        return self._clock

    @property
    def engine(self) -> Engine:
        """Leads to the test's database."""
        return self.app.engine

    def session(self) -> AbstractContextManager[Session]:
        """A SQLAlchemy Session; commits at the end, rolls back on an exception."""
        return self.app.session()

    def async_session(self) -> AbstractAsyncContextManager[AsyncSession]:
        """The same for async code."""
        return self.app.async_session()

    # --- working -----------------------------------------------------------------------------

    def drain(self) -> None:
        """Work, in this thread, until nothing is due."""
        self._survive(self.app.drain)

    async def adrain(self) -> None:
        """The same from async code, in another thread."""
        await asyncio.to_thread(self.drain)

    def travel(self, by: Duration) -> None:
        """Let so much time pass, and work at each moment at which something becomes due."""
        end = self.clock.now() + duration(by, "travel")
        self._survive(lambda: travel(self.app, self.clock, end))

    async def atravel(self, by: Duration) -> None:
        """The same from async code, in another thread."""
        await asyncio.to_thread(self.travel, by)

    def redeliver(self, kind: type[Event], /) -> None:
        """Deliver settled messages once more, with the same id, as a broker may.

        Handlers with a session are spared: their message was settled with their effect.
        """
        __tracebackhide__ = True
        if redeliver(self.app, kind) == 0:
            raise AssertionError(f"No {kind.__name__} is settled yet, so none can be repeated.")

    @contextmanager
    def crash(self, point: str, *, times: int = 1) -> Iterator[None]:
        """Let the worker process die at this point; the block ends there, the test goes on.

        Nothing is handed back, and the lease counts as run out: the next `drain` rescues. After
        each death but the last the worker is started again.
        """
        __tracebackhide__ = True
        death, outer = Death(self.app, point, times), self._death
        self._death = death
        try:
            with armed(death):
                yield
        except Died:
            self._bury(death)
        finally:
            self._death = outer
        death.check()

    def _survive(self, work: Callable[[], None]) -> None:
        """After each death but the last the worker is started again, as a supervisor would."""
        while True:
            try:
                return work()
            except Died:
                if self._death is None or not self._death.is_due:
                    raise
                self._bury(self._death)

    def _bury(self, death: Death) -> None:
        death.run_out()
        if (left := self.app.providers.abandon()) is not None:
            self._ends.callback(lambda: self.app.providers.run(left.aclose()))

    # --- injecting ---------------------------------------------------------------------------

    def override(self, kind: type[T], value: V) -> V:
        """Give this value to whoever asks for the kind, until the end."""
        if not any(kind is one or kind == one for one in self._asked_for()):
            raise InvalidOption(
                "override",
                getattr(kind, "__name__", kind),
                "no handler, no job and no provider asks for it.",
            )
        self.app.providers.override(kind, value)
        return value

    def _asked_for(self) -> Iterator[Any]:
        for context in self.app.contexts:
            asking: list[Wish | Job[Any, Any]] = [*context.wishes, *context.declared_jobs]
            asked = [parameters_of(one.function, one.name) for one in asking]
            for parameters in (*asked, *(one.parameters for one in context.provided)):
                yield from (parameter.kind for parameter in parameters)

    # --- looking -----------------------------------------------------------------------------

    def published(self, kind: type[E], /) -> list[E]:
        """All events of this class, waiting, processed or dead, in the order of publishing."""
        return published(self.app, kind)

    def assert_published(self, kind: type[E], /, *, times: int = 1, **fields: object) -> E:
        """So many events of this class have these values; answers the last of them."""
        __tracebackhide__ = True
        if times < 1:
            raise InvalidOption("times", times, "use assert_not_published.")
        found = fitting(published(self.app, kind), kind, fields)
        if len(found) != times:
            told = f"{_wanted(kind, fields)}: expected {times}, published {len(found)}."
            raise AssertionError(f"{told} {instead(self.app)}")
        return found[-1]

    def assert_not_published(self, kind: type[Event], /, **fields: object) -> None:
        """No event of this class has these values."""
        __tracebackhide__ = True
        found = fitting(published(self.app, kind), kind, fields)
        if found:
            told = f"{_wanted(kind, fields)}: expected none, published {len(found)}."
            raise AssertionError(f"{told} {instead(self.app)}")

    def enqueued(self, job: Job[A, Any], /) -> list[A]:
        """The arguments of all jobs of this kind, waiting, done or dead, as they were enqueued."""
        return jobs.enqueued(self.app, job)

    def assert_enqueued(
        self, job: Job[A, Any], argument: A = ABSENT, /, *, times: int = 1, **fields: object
    ) -> A:
        """So many jobs of this kind have this argument, or these values; answers the last."""
        __tracebackhide__ = True
        if times < 1:
            raise InvalidOption("times", times, "use assert_not_enqueued.")
        found = jobs.fitting(self.app, job, argument, fields)
        if len(found) != times:
            told = f"{jobs.wanted(job, argument, fields)}: expected {times}, enqueued {len(found)}."
            raise AssertionError(f"{told} {jobs.instead(self.app)}")
        return found[-1]

    def assert_not_enqueued(
        self, job: Job[A, Any], argument: A = ABSENT, /, **fields: object
    ) -> None:
        """No job of this kind has this argument, or these values."""
        __tracebackhide__ = True
        found = jobs.fitting(self.app, job, argument, fields)
        if found:
            told = f"{jobs.wanted(job, argument, fields)}: expected none, enqueued {len(found)}."
            raise AssertionError(f"{told} {jobs.instead(self.app)}")

    def runs(self, job: Job[Any, Any], /) -> list[RunRecord]:
        """Every attempt at jobs of this kind, in the order they began."""
        return jobs.runs(self.app, job)

    def results(self, job: Job[Any, R], /) -> list[R]:
        """What jobs of this kind have answered that succeeded, in that order."""
        return jobs.results(self.app, job)

    def dead_letters(self) -> list[DeadLetter]:
        """Those that are open, in the order they died."""
        found: list[DeadLetter] = []
        after: str | None = None
        with self.engine.connect() as connection, reading(connection):
            while True:
                page = self.app.dead_letters.list(connection, after=after)
                found += page.items
                if (after := page.next) is None:
                    return found[::-1]

    def story(self) -> str:
        """What became of each event and job; pytest shows it when a test fails."""
        return story(self.app)


def _wanted(kind: type[Event], fields: dict[str, object]) -> str:
    values = ", ".join(f"{name}={value!r}" for name, value in fields.items())
    return f"{kind.__name__}({values})"
