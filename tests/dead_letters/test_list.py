"""One list for all dead letters: filters, pages, who has looked."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

import pytest

from tests.application import Placed, Shipped, publish
from todoke import Todoke
from todoke.errors import InvalidOption, NotFound, TodokeError
from todoke.operate import DeadLetter, Selection
from todoke.testing import Clock


def bury(app: Todoke, *orders: int) -> None:
    publish(app, *(Placed(order_id=order, note="refuse") for order in orders))
    app.drain()


def found(app: Todoke, selection: Selection | None = None) -> list[str]:
    with app.session() as session:
        return [one.key for one in app.dead_letters.list(session, selection).items]


def test_the_newest_comes_first(app: Todoke, clock: Clock) -> None:
    """ER-3"""
    for order in (1, 2, 3):
        bury(app, order)
        clock.advance("1s")
    assert found(app) == ["3", "2", "1"]


def test_a_letter_tells_all(app: Todoke, clock: Clock) -> None:
    """ER-3"""
    bury(app, 7)
    with app.session() as session:
        (letter,) = app.dead_letters.list(session).items
    assert (letter.source, letter.type, letter.error_class, letter.code, letter.message) == (
        "event", "placed", "permanent", "NO_CUSTOMER", "no such customer",
    )  # fmt: skip
    assert (letter.attempts, letter.died_at, letter.body) == (
        1, clock.now(), '{"note":"refuse","order_id":7}',
    )  # fmt: skip
    assert "PermanentError: no such customer" in letter.traceback


FILTERS = [
    ({}, 3),
    ({"source": "event"}, 3),
    ({"source": "delivery"}, 0),
    ({"code": "LOST"}, 1),
    ({"code": "NO_CUSTOMER"}, 2),
    ({"error_class": "permanent"}, 3),
    ({"error_class": "transient"}, 0),
    ({"older_than": "1h"}, 1),
    ({"code": "LOST", "older_than": "1h"}, 0),
]


@pytest.mark.parametrize(("wanted", "count"), FILTERS, ids=str)
def test_letters_are_chosen_by_all_that_is_given(
    app: Todoke, clock: Clock, wanted: dict[str, str], count: int
) -> None:
    """ER-3 ER-4"""
    bury(app, 1)
    clock.advance("1h")
    bury(app, 2)
    publish(app, Shipped(order_id=3))
    app.drain()
    selection = app.dead_letters.where(**wanted)
    assert len(found(app, selection)) == count
    with app.session() as session:
        assert app.dead_letters.count(session, selection) == count


def test_letters_are_chosen_by_id(app: Todoke) -> None:
    """ER-4"""
    bury(app, 1, 2)
    with app.session() as session:
        chosen = app.dead_letters.list(session).items[0]
    assert found(app, app.dead_letters.where(ids=[str(chosen.id)])) == [chosen.key]


def test_pages_follow_each_other_without_gap_or_repeat(app: Todoke, clock: Clock) -> None:
    """ER-3"""
    bury(app, *range(5))
    clock.advance("1s")
    bury(app, *range(5, 10))
    pages: list[Sequence[DeadLetter]] = []
    after: str | None = None
    with app.session() as session:
        while not pages or after:
            page = app.dead_letters.list(session, limit=3, after=after)
            pages.append(page.items)
            after = page.next
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert sorted(int(one.key) for page in pages for one in page) == list(range(10))


@pytest.mark.parametrize("after", ["nonsense", str(UUID(int=7))])
def test_a_page_after_nothing_is_refused(app: Todoke, after: str) -> None:
    """ER-3"""
    with app.session() as session, pytest.raises(TodokeError):
        app.dead_letters.list(session, after=after)


def test_looking_at_one_is_noted(app: Todoke, clock: Clock) -> None:
    """ER-3 ER-5"""
    bury(app, 1)
    with app.session() as session:
        (letter,) = app.dead_letters.list(session).items
        assert letter.seen_at is None
        clock.advance("1m")
        assert app.dead_letters.get(session, letter.id).seen_at == clock.now()


def test_one_that_does_not_exist_is_told(app: Todoke) -> None:
    """ER-3"""
    with app.session() as session, pytest.raises(NotFound, match="todoke dead-letters list"):
        app.dead_letters.get(session, UUID(int=7))


def test_a_source_that_does_not_exist_is_refused(app: Todoke) -> None:
    """ER-3"""
    with pytest.raises(InvalidOption, match="one of event, delivery"):
        app.dead_letters.where(source="outbox")


def test_an_id_that_is_none_is_refused(app: Todoke) -> None:
    """ER-3"""
    with pytest.raises(InvalidOption, match="not the id of a dead letter"):
        app.dead_letters.where(ids=["7"])
