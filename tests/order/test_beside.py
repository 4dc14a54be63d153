"""While answers are written beside the claims, what is not written yet still counts as in hand."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import OperationalError

from tests.application import living, publish, register, statuses
from tests.order.hands import Hand, hands, lane_owners, walker_in
from tests.order.walks import STREAM, WAYS, Journal, barriers, listen, steps
from todoke import Todoke, TransientError
from todoke.outbox.relay import Relay
from todoke.testing import Clock


def work(worker: Hand, clock: Clock, rounds: int = 20) -> None:
    """All that is to be done, second by second."""
    for _ in range(rounds):
        clock.advance("1s")
        worker.renew()
        worker.stage()
        worker.tick()
        worker.slots.perform()
        worker.tick()
        worker.settle()


@pytest.mark.parametrize("way", WAYS)
def test_nothing_overtakes_rows_whose_return_is_not_written_yet(
    app: Todoke, journal: Journal, clock: Clock, way: str
) -> None:
    """OB-9: a head may get through in its own transaction before its followers are back."""
    listen(app, journal, way)
    journal.answer("a", 1, TransientError("busy"))
    publish(app, *steps("a", 1))
    with hands(app, 1, holds_on=True, settles_beside=True) as (worker,):
        worker.tick(20)
        worker.slots.perform()
        worker.tick()  # 1 failed: given to the settler, not written yet
        publish(app, *steps("a", 2, 3))
        worker.tick(20)
        worker.settle()
        worker.tick()  # 2 and 3, which were behind it, are to go back
        clock.advance("2s")
        worker.renew()
        worker.stage()
        worker.tick(20)
        worker.slots.perform()
        publish(app, *steps("a", 4))
        worker.tick(20)
        worker.slots.perform()
        assert 4 not in journal.of("a")
        work(worker, clock)
        worker.stop()
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3, 4], [])
    assert [status for status, _ in statuses(app)] == ["PROCESSED"] * 4


def test_nothing_overtakes_rows_that_could_not_be_taken_in(
    app: Todoke, journal: Journal, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-9 OB-8: the database went away between their claim and their handlers."""
    listen(app, journal)
    publish(app, *steps("a", 1))

    def away(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("gone"), connection_invalidated=True)

    with hands(app, 1, holds_on=True, settles_beside=True) as (worker,):
        with monkeypatch.context() as patch, pytest.raises(OperationalError):
            patch.setattr(Relay, "prepare", away)
            worker.tick(20)
        publish(app, *steps("a", 2, 3))
        worker.tick(20)
        worker.slots.perform()
        assert journal.tried == []
        work(worker, clock)
        worker.stop()
    assert (journal.of("a"), barriers(app)) == ([1, 2, 3], [])


def test_a_row_claimed_anew_behind_its_own_older_attempt_is_not_lost(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-4 OB-7 OB-9: the process lives on under a new name, so nobody would look for the row."""
    listen(app, journal)
    publish(app, *steps("a", 1), *steps("b", 1))
    with hands(app, 1, holds_on=True, settles_beside=True) as (worker,):
        worker.tick(20)
        worker.slots.perform("b")
        worker.tick()  # from now on the settler is busy
        clock.advance("16s")
        with hands(app, 1) as (rescuer,):
            rescuer.rescue()
            rescuer.stop()
        worker.renew()
        worker.slots.perform()  # too late: the answer waits for the settler, and for the old name
        worker.tick(20)
        assert worker.id in {row.owner for row in living(app)}
        worker.settle()
        work(worker, clock)
        assert (journal.of("a"), journal.of("b"), living(app)) == ([1], [1, 1], [])


def test_nothing_is_handled_in_place_before_deliveries_that_are_not_written_yet(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-9 OB-10: the event before it goes to several handlers, one of which is gone by now."""
    listen(app, journal)
    register(app, 3, walked=["count"])
    publish(app, *steps("a", 1))
    with hands(app, 1, holds_on=True, settles_beside=True) as (worker,):
        worker.tick(20)
        clock.advance("4s")
        worker.renew()
        publish(app, *steps("a", 2))
        worker.tick(20)
        worker.settle()
        work(worker, clock)
        worker.stop()
    assert journal.of("a") == [1, 2]


def test_a_suspect_is_alone_until_it_is_written_that_it_survived(
    app: Todoke, journal: Journal, clock: Clock
) -> None:
    """OB-7: who came after it might kill the process, and the suspect would be blamed."""
    listen(app, journal)
    publish(app, *steps("a", 1))
    with hands(app, 1, holds_on=True) as (dying,):
        dying.tick(20)
        clock.advance("16s")
    with hands(app, 1, holds_on=True, settles_beside=True) as (worker,):
        worker.rescue()
        worker.tick(20)
        publish(app, *steps("b", 1))
        worker.slots.perform()
        worker.tick(20)
        assert [row.owner for row in living(app)] == [worker.id, None]
        worker.settle()
        worker.tick(20)
        assert [row.owner for row in living(app)] == [worker.id]
        worker.stop()
    assert journal.seen == [("a", 1)]


def test_a_lane_is_kept_until_its_answers_are_written(app: Todoke, journal: Journal) -> None:
    """OB-9: its next owner would not know of these rows."""
    listen(app, journal)
    publish(app, *steps(walker_in(range(63, 64), STREAM), 1))
    with hands(app, 1, holds_on=True, settles_beside=True) as (first,):
        first.tick(20)
        first.slots.perform()
        first.tick()
        with hands(app, 1) as (second,):
            first.tick(3)
            assert lane_owners(app, STREAM)[62] is None
            assert lane_owners(app, STREAM)[63] == first.id
            first.settle()
            first.tick()
            second.tick()
            assert lane_owners(app, STREAM)[63] == second.id
