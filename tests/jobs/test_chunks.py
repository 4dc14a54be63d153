"""How far a loop over chunks has come, of how many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

from tests.application import application
from tests.jobs.board import run_rows
from todoke import Run, Todoke

ROWS = 7


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with application(migrated_url) as app:
        yield app


def behind(after: int | None) -> list[int]:
    return list(range((after or 0) + 1, ROWS + 1))


def test_what_is_left_is_asked_once_and_gives_progress_its_total(app: Todoke) -> None:
    """JB-10: in each of two loops"""
    asked: list[int | None] = []
    seen: list[tuple[int | None, int | None]] = []

    def fetch(session: Session, after: int | None, size: int) -> Sequence[int]:
        return behind(after)[:size]

    def left(session: Session, after: int | None) -> int:
        asked.append(after)
        return len(behind(after))

    @app.job()
    def large(run: Run) -> None:
        for name in ("first", "second"):
            loop = run.chunks(fetch, cursor=lambda one: one, size=3, name=name, left=left)
            seen.extend((run.told.done, run.told.total) for _ in loop)

    with app.session() as session:
        large.enqueue(session)
    app.drain()
    assert asked == [None, None]
    assert seen == [(0, ROWS), (3, ROWS), (6, ROWS)] * 2
    (row,) = run_rows(app)
    assert (row.processed, row.total) == (ROWS, ROWS)


def test_an_async_loop_awaits_what_is_left(app: Todoke) -> None:
    """JB-10"""
    asked: list[int | None] = []

    async def fetch(session: AsyncSession, after: int | None, size: int) -> Sequence[int]:
        return behind(after)[:size]

    async def left(session: AsyncSession, after: int | None) -> int:
        asked.append(after)
        return len(behind(after))

    @app.job()
    async def large(run: Run) -> None:
        async for _ in run.chunks(fetch, cursor=lambda one: one, size=3, left=left):
            pass

    with app.session() as session:
        large.enqueue(session)
    app.drain()
    assert asked == [None]
    (row,) = run_rows(app)
    assert (row.processed, row.total) == (ROWS, ROWS)
