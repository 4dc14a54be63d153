"""A loop over chunks lets others write where only one can at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import Placed, application, publish
from todoke import Job, Run, Todoke
from todoke.clock import SystemClock
from todoke.jobs.making_way import MakingWay

# The job rests after every second chunk; others have five seconds to find a gap.
CHUNK, CHUNKS = 0.6, 8


class Steps:
    def __init__(self, *moments: float) -> None:
        self._moments = iter(moments)

    def __call__(self) -> float:
        return next(self._moments)


def test_it_rests_after_each_second_where_one_writes_at_a_time() -> None:
    """JB-10"""
    way = MakingWay(True, Steps(0.0, 0.9, 1.1, 1.1, 2.1, 2.3, 2.3))
    assert [way.pause() for _ in range(4)] == [0.0, 0.12, 0.0, 0.12]


def test_elsewhere_it_never_rests() -> None:
    """JB-10"""
    way = MakingWay(False, Steps(0.0, 5.0, 50.0))
    assert [way.pause(), way.pause()] == [0.0, 0.0]


class Writer:
    """Wants to write while a job does."""

    def __init__(self, app: Todoke) -> None:
        self.app = app
        self.done = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        publish(self.app, Placed(order_id=1))
        self.done.set()

    def wait(self, after: int | None) -> bool:
        """Begins with the first chunk, and is then waited for as long as a chunk takes."""
        if after is None:
            self._thread.start()
        return self.done.wait(CHUNK)

    def end(self) -> None:
        self._thread.join()


def numbers(after: int | None) -> Sequence[int]:
    return [after + 1 if after is not None else 0] if (after or 0) < CHUNKS else []


def in_a_thread(app: Todoke, writer: Writer, met: list[bool]) -> Job[None, None]:
    def fetch(session: Session, after: int | None, size: int) -> Sequence[int]:
        return numbers(after)

    @app.job()
    def large(run: Run) -> None:
        for _, (number,) in run.chunks(fetch, cursor=lambda one: one, size=1):
            met.append(writer.wait(number or None))
            if met[-1]:
                break

    return large


def in_the_loop(app: Todoke, writer: Writer, met: list[bool]) -> Job[None, None]:
    async def fetch(session: AsyncSession, after: int | None, size: int) -> Sequence[int]:
        return numbers(after)

    @app.job()
    async def large(run: Run) -> None:
        async for _, (number,) in run.chunks(fetch, cursor=lambda one: one, size=1):
            met.append(writer.wait(number or None))
            if met[-1]:
                break

    return large


@pytest.mark.parametrize("make", [in_a_thread, in_the_loop])
def test_another_comes_to_write_between_the_chunks(
    sqlite_copy: str, make: Callable[[Todoke, Writer, list[bool]], Job[None, None]]
) -> None:
    """JB-10: its patience is 30 s; without a rest it would wait until the job has ended"""
    met: list[bool] = []
    with application(sqlite_copy, clock=SystemClock()) as app:
        writer = Writer(app)
        large = make(app, writer, met)
        with app.session() as session:
            large.enqueue(session)
        app.drain()
        writer.end()
    assert met[-1], f"nobody else could write during {len(met)} chunks"
