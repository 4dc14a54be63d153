"""Why a job is not running: the limit or the rate of its whole queue."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest

from tests.application import application
from tests.jobs.desk import Desk, Export
from todoke.job_runtime import outlets
from todoke.testing import Clock

MONDAY = Export(day="monday")


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-01-01 09:00")


@pytest.fixture
def bound(migrated_url: str, clock: Clock) -> Iterator[Desk]:
    """The queue of files is bound; so are those of its jobs that have bounds of their own."""
    settings: dict[str, object] = {
        "queues.files.limit": 2,
        "queues.default.rate": "1/60s",
        "worker.queues.default": 4,
        "worker.queues.files": 4,
    }
    with application(migrated_url, clock=clock, settings=settings) as app:
        yield Desk(app)


def begin(desk: Desk, worker: UUID, name: str, stream: str) -> UUID:
    """Claim and run one of a stream as a worker does, with room in its queue."""
    outlet = outlets(desk.app)(desk.app.jobs_table.source, stream)
    assert outlet is not None
    with desk.app.engine.begin() as connection:
        assert outlet.room(connection, worker, 1).granted == 1
    (item,) = desk.claim(worker, stream)
    desk.runs(item, worker, name)
    return item.message_id


def test_a_full_limit_of_its_queue(bound: Desk, clock: Clock) -> None:
    """JB-9: who holds the slots, whatever job they are for; other queues are not concerned."""
    first, second = bound.worker("host:1"), bound.worker("host:2")
    bound.enqueue(bound.renamed)
    longest = begin(bound, first, "host:1", "todoke/files")
    clock.advance("3m")
    id = bound.enqueue(bound.renamed)
    assert bound.why(id) == ["It is next: a worker should take it within 1.0 s."]
    bound.enqueue(bound.narrow, 1, queue="files")
    begin(bound, second, "host:2", "todoke/files/narrow")
    told = (
        "Queue files is full, at most 2 at once: worker host:1 holds 1, worker host:2 holds 1; "
        f"renamed {longest} has been running for 3 min."
    )
    assert bound.why(id) == [told]
    assert bound.get(id).why_waiting == told
    with bound.app.session() as session:
        listed = {one.id: one.why_waiting for one in bound.app.jobs.list(session)}
    assert listed[id] == told
    assert bound.why(bound.enqueue(bound.narrow, 2, queue="files")) == [told]
    assert "It is next" in bound.why(bound.enqueue(bound.narrow, 3))[0]


def test_a_full_limit_of_its_own_comes_before_that_of_its_queue(bound: Desk) -> None:
    """JB-9: both are told, since both have to end."""
    worker = bound.worker("host:1")
    for number in range(3):
        id = bound.enqueue(bound.narrow, number, queue="files")
    for _ in range(2):
        begin(bound, worker, "host:1", "todoke/files/narrow")
    assert [one.partition(",")[0] for one in bound.why(id)] == [
        "narrow is full",
        "Queue files is full",
    ]


def test_a_rate_of_its_queue_that_is_used_up(bound: Desk, clock: Clock) -> None:
    """JB-9: when the next of all its jobs may begin."""
    bound.enqueue(bound.narrow, 1)
    bound.app.drain()
    bound.worker()
    id = bound.enqueue(bound.export, MONDAY)
    clock.advance("45s")
    assert bound.why(id) == [
        "Queue default may begin 1 per 60.0 s: the next time at 09:01:00 UTC, in 15.0 s."
    ]
    clock.advance("15s")
    assert "It is next" in bound.why(id)[0]
