"""Chains and batches, and what becomes of them when a member fails, is cancelled or redriven."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import select

from tests.application import application
from tests.jobs.board import waiting
from todoke import Job, Todoke, batch, chain
from todoke.errors import InvalidOption


class Desk:
    """An application with a job that fails for those who are told to."""

    def __init__(self, app: Todoke) -> None:
        self.app = app
        self.seen: list[int] = []
        self.told: list[str] = []
        self.failing: set[int] = set()

        @app.job()
        def member(number: int) -> int:
            if number in self.failing:
                raise ValueError
            self.seen.append(number)
            return number

        @app.job()
        def tell(text: str) -> None:
            self.told.append(text)

        self.member: Job[int, int] = member
        self.tell: Job[str, None] = tell

    def enqueue_batch(self, count: int) -> None:
        members = [self.member.bind(number) for number in range(count)]
        plan = batch(members, then=self.tell.bind("all"), failed=self.tell.bind("some"), name="b")
        with self.app.session() as session:
            self.app.enqueue(session, plan)

    def redrive(self) -> None:
        self.failing.clear()
        with self.app.session() as session:
            every = self.app.dead_letters.where()
            self.app.dead_letters.redrive(session, every, by="ken", reason="mended")

    def counts(self) -> tuple[int, int, int]:
        table = self.app.job_room.tables.batches
        with self.app.engine.connect() as connection:
            row = connection.execute(select(table)).one()
        return row.total, row.pending, row.failed


@pytest.fixture
def desk(migrated_url: str) -> Iterator[Desk]:
    with application(migrated_url, settings={"retry.job": {"delays": []}}) as app:
        yield Desk(app)


def test_a_chain_goes_one_after_the_other(desk: Desk) -> None:
    """JB-3"""
    links = [desk.member.bind(number) for number in (1, 2, 3)]
    with desk.app.session() as session:
        ref = desk.app.enqueue(session, chain(*links))
    assert len(ref.jobs) == 1
    assert waiting(desk.app) == 1
    desk.app.drain()
    assert desk.seen == [1, 2, 3]


def test_a_chain_stops_at_a_link_that_is_given_up_and_goes_on_when_it_is_redriven(
    desk: Desk,
) -> None:
    """JB-3"""
    desk.failing = {2}
    links = [desk.member.bind(number) for number in (1, 2, 3)]
    with desk.app.session() as session:
        desk.app.enqueue(session, chain(*links))
    desk.app.drain()
    assert desk.seen == [1]
    desk.redrive()
    desk.app.drain()
    assert desk.seen == [1, 2, 3]


def test_a_batch_is_followed_when_all_have_succeeded(desk: Desk) -> None:
    """JB-9"""
    desk.enqueue_batch(40)
    desk.app.drain()
    assert sorted(desk.seen) == list(range(40))
    assert desk.told == ["all"]
    assert desk.counts() == (40, 0, 0)


def test_a_batch_with_failures_is_followed_by_the_other(desk: Desk) -> None:
    """JB-9: once all have ended"""
    desk.failing = {3}
    desk.enqueue_batch(5)
    desk.app.drain()
    assert desk.told == ["some"]
    assert desk.counts() == (5, 0, 1)


def test_a_member_that_is_redriven_before_the_others_end_counts_again(desk: Desk) -> None:
    """JB-9"""
    desk.failing = {0}
    members = [desk.member.bind(0), desk.member.bind(1, delay="1h")]
    with desk.app.session() as session:
        desk.app.enqueue(session, batch(members, then=desk.tell.bind("all")))
    desk.app.drain()
    assert desk.counts() == (2, 1, 1)
    desk.redrive()
    desk.app.drain()
    assert (desk.told, desk.counts()) == ([], (2, 1, 0))
    desk.app.clock.advance("1h")  # type: ignore[attr-defined]
    desk.app.drain()
    assert desk.told == ["all"]


def test_a_batch_of_nothing_is_followed_at_once(desk: Desk) -> None:
    """JB-9"""
    with desk.app.session() as session:
        desk.app.enqueue(session, batch([], then=desk.tell.bind("all")))
    desk.app.drain()
    assert desk.told == ["all"]


def test_a_rollback_leaves_no_batch(desk: Desk) -> None:
    """JB-9"""
    with pytest.raises(ZeroDivisionError), desk.app.session() as session:
        desk.app.enqueue(session, batch([desk.member.bind(1)]))
        raise ZeroDivisionError
    assert waiting(desk.app) == 0
    with desk.app.engine.connect() as connection:
        assert connection.execute(select(desk.app.job_room.tables.batches)).first() is None


def test_what_is_no_plan_is_refused(desk: Desk) -> None:
    with desk.app.session() as session:
        with pytest.raises(InvalidOption, match="chain"):
            desk.app.enqueue(session, chain())
        with pytest.raises(InvalidOption, match="bind"):
            desk.app.enqueue(session, batch([desk.member]))  # type: ignore[list-item]
        with pytest.raises(InvalidOption, match="batch"):
            desk.app.enqueue(session, desk.member)  # type: ignore[call-overload]
