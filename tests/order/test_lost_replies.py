"""A commit whose reply was lost: what the worker then believes does not break the order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy.exc import OperationalError

from tests.application import letters, living, publish
from tests.order.broken_lines import reply_lost
from tests.order.hands import Hand, hands, lane_owners, seconds_pass, shares
from tests.order.walks import STREAM, Journal, barriers, later, listen, redrive, states, steps
from todoke import PermanentError, Todoke, TransientError
from todoke.testing import Clock
from todoke.work.strand import LANES


@pytest.mark.parametrize("way", ["plain", "session"])
def test_a_failure_whose_settling_got_no_reply_still_holds_its_key(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9"""
    listen(app, journal, way)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2))
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick(10)
        worker.slots.perform()
        with (
            reply_lost(worker, app, "settle.before_commit"),
            pytest.raises(OperationalError),
        ):
            worker.tick()
        publish(app, *steps("a", 3))
        worker.tick(10)
        worker.slots.perform()
        assert (journal.seen, states(app)) == ([], ["later", "held", "held"])
        clock.advance("10s")
        worker.renew()
        worker.stage()
        for _ in range(4):
            worker.tick(10)
            worker.slots.perform()
        assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3], [], [])


def test_a_dead_letter_whose_settling_got_no_reply_still_parks_its_key(
    app: Todoke, journal: Journal
) -> None:
    """OB-9 ER-3"""
    listen(app, journal)
    journal.answer("a", 1, PermanentError("no"))
    publish(app, *steps("a", 1, 2))
    with hands(app, 1, holds_on=True) as (worker,):
        worker.tick(10)
        worker.slots.perform()
        with (
            reply_lost(worker, app, "settle.before_commit"),
            pytest.raises(OperationalError),
        ):
            worker.tick()
        publish(app, *steps("a", 3))
        worker.tick(10)
        worker.slots.perform()
        assert (journal.seen, states(app), len(letters(app))) == ([], ["held", "held"], 1)
        redrive(app)
        for _ in range(4):
            worker.tick(10)
            worker.slots.perform()
        assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])


def test_lanes_whose_taking_got_no_reply_are_served(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: they are ours, and nobody else could take them"""
    listen(app, journal)
    publish(app, *steps("a", 1, 2))
    with hands(app, 1) as (worker,):
        with reply_lost(worker, app, "lanes.before_take"), pytest.raises(OperationalError):
            worker.tick()
        assert shares(app, STREAM, [worker]) == [LANES]
        seconds_pass(clock, [worker], 10)
        assert (journal.of("a"), living(app)) == ([1, 2], [])


def test_lanes_whose_giving_back_got_no_reply_have_no_second_owner(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9: whoever takes them next is alone with them"""
    listen(app, journal)
    with (
        hands(app, 1, holds_on=True) as (first,),
        everything_taken(app, first) as second,
    ):
        with reply_lost(first, app, "lanes.before_give_back"), pytest.raises(OperationalError):
            gives_back(first, clock)
        seconds_pass(clock, [second], 2)
        for number in range(40):
            publish(app, *steps(f"walker {number}", 1))
        first.tick(5)
        second.tick(5)
        owners = lane_owners(app, STREAM)
        taken = [row for row in living(app) if row.owner is not None]
        assert len(taken) > 0
        assert [row.owner for row in taken] == [owners[row.lane] for row in taken]
        for _ in range(20):
            seconds_pass(clock, [first, second], 1)
            first.slots.perform()
            second.slots.perform()
        assert shares(app, STREAM, [first, second]) == [32, 32]
        assert (len(journal.seen), living(app)) == (40, [])


@contextmanager
def everything_taken(app: Todoke, first: Hand) -> Iterator[Hand]:
    """The first has all lanes when the second comes."""
    first.tick()
    assert shares(app, STREAM, [first]) == [LANES]
    with hands(app, 1, holds_on=True) as (second,):
        yield second


def gives_back(worker: Hand, clock: Clock) -> None:
    for _ in range(3):
        clock.advance("1s")
        worker.tick()


def test_a_pass_whose_commit_got_no_reply_lets_the_key_go_on(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9"""
    listen(app, journal, "session")
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1, 2, 3))
    app.drain()
    clock.advance("10s")
    with hands(app, 1, holds_on=True) as (worker,):
        worker.stage()
        worker.tick(10)
        worker.slots.perform()
        with reply_lost(worker, app, "hold.before_pass_on"), pytest.raises(OperationalError):
            worker.tick()
        for _ in range(4):
            worker.tick(10)
            worker.slots.perform()
    assert (journal.of("a"), living(app), barriers(app)) == ([1, 2, 3], [], [])
    later(app, clock)
    assert journal.of("a") == [1, 2, 3]
