"""Workers that a test ticks by hand, and slots whose calls end when the test says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from uuid import UUID

from sqlalchemy import select

from tests.application import leases
from todoke import Todoke
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.call import Call
from todoke.work.settler import Beside, Settler
from todoke.work.slots import Finished, InlineSlots
from todoke.work.strand import lane_of, strand_of


class OpenSlots:
    """Begins calls, and performs them when the test says so."""

    def __init__(self, inline: InlineSlots) -> None:
        self._inline = inline
        self.begun: list[Call] = []

    def start(self, calls: Sequence[Call]) -> None:
        self.begun += calls

    def perform(self, key: str | None = None) -> None:
        """All of them, or those of one key."""
        calls = [call for call in self.begun if key in (None, call.item.key)]
        self.begun = [call for call in self.begun if call not in calls]
        self._inline.start(calls)

    def finished(self) -> list[Finished]:
        return self._inline.finished()

    def withdraw(self) -> list[Call]:
        calls, self.begun = self.begun, []
        return calls

    def close(self) -> None:
        pass


class Hand:
    """One worker process of many, in the test's own thread."""

    def __init__(
        self, app: Todoke, *, holds_on: bool = False, settles_beside: bool = False
    ) -> None:
        self.runtime = Runtime(app, leases=leases(app))
        inline = InlineSlots(self.runtime.performer, app.event_loop)
        self.slots = OpenSlots(inline)
        self._beside = Beside(Settler(app.database), lambda: None)
        self._worker = self.runtime.worker(
            self.slots if holds_on else inline, self._beside if settles_beside else None
        )
        self.connection, self.lane_table = app.engine.connect(), app.lane_table
        self.runtime.membership.join(self.connection)

    @property
    def id(self) -> UUID:
        owner = self.runtime.membership.id
        assert owner is not None
        return owner

    def tick(self, times: int = 1) -> None:
        """Look everywhere."""
        for _ in range(times):
            self._worker.look_around()
            self._worker.tick(self.connection)

    def ring(self, *hints: str) -> None:
        """Told of something new, before it is time to look around."""
        self._worker.wake(hints)
        self.go_on()

    def go_on(self) -> None:
        """The next round, told of nothing."""
        self._worker.tick(self.connection)

    def renew(self) -> None:
        self.runtime.membership.tick(self.connection)

    def rescue(self) -> None:
        _, rescuer = self.runtime.keepers()
        rescuer.tick(self.connection)

    def settle(self) -> None:
        """What was answered until the last tick is written; the worker hears of it at the next."""
        self._beside.tick(self.connection)

    def stage(self) -> None:
        stager, _ = self.runtime.keepers()
        stager.tick(self.connection)

    def close(self) -> None:
        """Whatever connection it has by then."""
        self.connection.close()

    def stop(self) -> None:
        """An orderly end: hand back, and leave."""
        self._worker.hand_back(self.connection)
        self.runtime.membership.leave(self.connection)


@contextmanager
def hands(app: Todoke, count: int, **options: bool) -> Iterator[list[Hand]]:
    with ExitStack() as stack:
        made = [Hand(app, **options) for _ in range(count)]
        for one in made:
            stack.callback(one.close)
        yield made


def seconds_pass(clock: Clock, workers: Sequence[Hand], seconds: int) -> None:
    """Second by second, with everybody renewing and ticking."""
    for _ in range(seconds):
        clock.advance("1s")
        for one in workers:
            one.renew()
            one.tick()


def lane_owners(app: Todoke, stream: str) -> dict[int, UUID | None]:
    lanes = app.lane_table
    with app.engine.connect() as connection:
        rows = connection.execute(
            select(lanes.c.lane, lanes.c.owner).where(lanes.c.stream == stream)
        )
        return {row.lane: row.owner for row in rows}


def shares(app: Todoke, stream: str, workers: Sequence[Hand]) -> list[int]:
    """How many lanes each worker has."""
    count = Counter(lane_owners(app, stream).values())
    return [count[one.id] for one in workers]


def walker_in(lanes: range, stream: str) -> str:
    """A walker whose strand runs in one of these lanes."""
    names = (f"walker {number}" for number in range(10_000))
    return next(name for name in names if lane_of(strand_of(stream, "walk", name, None)) in lanes)
