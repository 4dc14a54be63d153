"""Many jobs in one call: all of them or none, and the transaction goes on; on every kind of handle.

Where a database streams rows, they are made while it writes.
"""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from tests.publish.desks import EVERY_KIND, Desk
from tests.publish.test_rows import seen
from todoke import Job, Todoke
from todoke.errors import InvalidArgument

PLACES = EVERY_KIND
MANY = 600


async def test_many_jobs_keep_their_order(app: Todoke, desk: Desk) -> None:
    """JB-1"""
    job = numbered(app)
    async with desk.transaction() as tx:
        refs = await enqueue_all(desk, job, tx, range(MANY))
        await enqueue_all(desk, job, tx, [])
    jobs = app.jobs_table.live
    with app.engine.connect() as connection:
        rows = connection.execute(select(jobs.c.body, jobs.c.message_id).order_by(jobs.c.id)).all()
    assert [row.body for row in rows] == [str(number) for number in range(MANY)]
    assert [row.message_id for row in rows] == sorted(ref.id for ref in refs)
    assert {ref.job for ref in refs} == {"number"}


async def test_one_that_is_refused_late_refuses_all(app: Todoke, desk: Desk) -> None:
    """JB-1: the transaction loses nothing of its own, and can go on"""
    job = numbered(app)
    async with desk.transaction() as tx:
        await desk.execute(tx, "INSERT INTO orders (id, seen) VALUES (1, 7)")
        with pytest.raises(InvalidArgument, match="Nothing was enqueued"):
            await enqueue_all(desk, job, tx, [*range(MANY - 1), "seven"])
        await enqueue_all(desk, job, tx, [41])
    jobs = app.jobs_table.live
    with app.engine.connect() as connection:
        assert connection.execute(select(jobs.c.body)).scalars().all() == ["41"]
    assert seen(app) == 7


def numbered(app: Todoke) -> Job[int, None]:
    @app.job(name="number")
    def number(argument: int) -> None: ...

    return number


async def enqueue_all(desk: Desk, job: Job[int, None], tx: Any, arguments: Any) -> Any:
    answer: Any = job.enqueue_all(tx, arguments)
    return await answer if desk.is_async else answer
