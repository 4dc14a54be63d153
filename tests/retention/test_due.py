"""What is due goes; whatever is younger, or has still to be done, stays."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.application import Placed, Shipped, living, publish, rows
from tests.retention.old_rows import (
    REFUSED,
    all_letters,
    archived,
    bury,
    change,
    clean,
    delivered,
    process,
    settled,
)
from todoke import Event, Key, PermanentError, Todoke
from todoke.message import Followers
from todoke.testing import Clock


class Walked(Event):
    walk: Key[int]


def test_nothing_younger_is_touched(deleting: Todoke, clock: Clock) -> None:
    """OB-12: processed rows are kept for seven days, to the second"""
    process(deleting, 1)
    clock.advance("1s")
    process(deleting, 2)
    clock.advance(timedelta(days=7, seconds=-2))
    assert (clean(deleting), settled(deleting)) == ({}, [1, 2])
    clock.advance("1s")
    assert (clean(deleting), settled(deleting)) == ({"event": 1}, [2])
    clock.advance("1s")
    assert (clean(deleting), settled(deleting)) == ({"event": 1}, [])


def test_deliveries_are_kept_until_no_letter_can_ask_for_them(
    deleting: Todoke, clock: Clock
) -> None:
    """OB-12: as long as dead letters, and the longest retries, and up to a whole day"""
    publish(deleting, Shipped())
    deleting.drain()
    clock.advance(timedelta(days=15, seconds=-1))
    assert clean(deleting) == {"event": 1}
    assert len(delivered(deleting)) == 2
    clock.advance("1s")
    assert clean(deleting) == {"delivery": 2}


def test_a_row_with_a_date_of_its_own_goes_then(deleting: Todoke, clock: Clock) -> None:
    """OB-12: earlier or later than the others"""
    process(deleting, 1, 2, 3)
    history = deleting.outbox_table.history
    soon, late = clock.now() + timedelta(hours=1), clock.now() + timedelta(days=30)
    first, second, _ = rows(deleting, history)
    change(deleting, history, first.id, expires_at=soon)
    change(deleting, history, second.id, expires_at=late)
    clock.advance(timedelta(hours=1, seconds=-1))
    assert clean(deleting) == {}
    clock.advance("1s")
    assert (clean(deleting), settled(deleting)) == ({"event": 1}, [2, 3])
    clock.advance("10d")
    assert (clean(deleting), settled(deleting)) == ({"event": 1}, [2])
    clock.set(late)
    assert (clean(deleting), settled(deleting)) == ({"event": 1}, [])


def test_what_has_still_to_be_done_stays_however_old_it_is(deleting: Todoke, clock: Clock) -> None:
    """OB-12: a clean-up date is no reason to lose work"""
    publish(deleting, Placed(order_id=1), delay="300d")
    (row,) = living(deleting)
    change(deleting, deleting.outbox_table.live, row.id, expires_at=clock.now())
    clock.advance("200d")
    assert (clean(deleting), len(living(deleting))) == ({}, 1)


def test_one_that_was_settled_late_keeps_nobody_else(deleting: Todoke, clock: Clock) -> None:
    """OB-12: it is passed, and goes when its own time has come"""
    publish(deleting, Placed(order_id=1), delay="5d")
    process(deleting, 2, 3)
    clock.advance("5d")
    deleting.drain()
    clock.advance("2d")
    assert (clean(deleting), settled(deleting)) == ({"event": 2}, [1])
    clock.advance("5d")
    assert clean(deleting) == {"event": 1}


def test_closed_letters_are_kept_for_two_weeks_after_they_were_closed(
    deleting: Todoke, clock: Clock
) -> None:
    """ER-5"""
    bury(deleting, 1)
    clock.advance("30d")
    with deleting.session() as session:
        chosen = deleting.dead_letters.where()
        deleting.dead_letters.resolve(session, chosen, by="ken", reason="old")
    clock.advance(timedelta(days=14, seconds=-1))
    assert (clean(deleting), len(all_letters(deleting))) == ({}, 1)
    clock.advance("1s")
    assert (clean(deleting), all_letters(deleting)) == ({"dead-letter": 1}, [])


def test_an_open_letter_is_never_just_deleted(deleting: Todoke, clock: Clock) -> None:
    """ER-5: without an archive it stays"""
    bury(deleting, 1)
    clock.advance("300d")
    assert (clean(deleting), len(all_letters(deleting))) == ({}, 1)


def test_an_open_letter_is_archived_after_two_weeks(app: Todoke, clock: Clock) -> None:
    """ER-5"""
    bury(app, 1)
    (letter,) = all_letters(app)
    clock.advance(timedelta(days=14, seconds=-1))
    assert clean(app) == {}
    clock.advance("1s")
    assert (clean(app), all_letters(app)) == ({"dead-letter": 1}, [])
    assert [line.id for line in archived(app, "dead-letter")] == [letter.id]


def test_a_letter_that_somebody_waits_behind_stays(app: Todoke, clock: Clock) -> None:
    """ER-5 OB-9: until a person has let its followers go on"""
    publish(app, Placed(order_id=1, note=REFUSED), Placed(order_id=1))
    app.drain()
    bury(app, 2)
    clock.advance("20d")
    assert clean(app) == {"dead-letter": 1}
    assert [row.key for row in all_letters(app)] == ["1"]
    with app.session() as session:
        app.dead_letters.resolve(session, app.dead_letters.where(), by="ken", reason="old")
    app.drain()
    assert living(app) == []
    clock.advance("14d")
    assert clean(app) == {"event": 1, "dead-letter": 1}


@pytest.mark.parametrize("followers", ["park", "skip"])
def test_a_letter_of_a_delivery_stays_only_where_its_key_waits(
    app: Todoke, clock: Clock, followers: Followers
) -> None:
    """ER-5 OB-9: where followers went on, nothing keeps it"""

    @app.on(Walked, followers=followers)
    def first(event: Walked) -> None:
        raise PermanentError("no")

    @app.on(Walked)
    def second(event: Walked) -> None:
        pass

    publish(app, Walked(walk=1))
    app.drain()
    clock.advance("14d")
    gone = clean(app)
    assert (gone.get("dead-letter", 0), len(all_letters(app))) == (
        (0, 1) if followers == "park" else (1, 0)
    )
