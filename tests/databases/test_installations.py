"""More than one installation of todoke in one database: a schema (or a prefix) for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import application, letters, living, publish, statuses
from tests.order.hands import hands, shares
from tests.order.walks import STREAM, Journal, listen, steps
from todoke import PermanentError, Todoke
from todoke.work.strand import LANES

Pair = tuple[Todoke, Todoke]


@pytest.fixture
def sales() -> Journal:
    return Journal()


@pytest.fixture
def stock() -> Journal:
    return Journal()


@pytest.fixture
def both(database_url: str, sales: Journal, stock: Journal) -> Iterator[Pair]:
    with (
        application(database_url, settings=names("sales")) as selling,
        application(database_url, settings=names("stock")) as storing,
    ):
        listen(selling, sales)
        listen(storing, stock)
        yield selling, storing


def names(name: str) -> dict[str, object]:
    return {"database.schema": name, "database.prefix": f"{name}_"}


def test_two_installations_do_not_see_each_others_events(
    both: Pair, sales: Journal, stock: Journal
) -> None:
    """OB-11: on PostgreSQL a schema for each context."""
    selling, storing = both
    publish(selling, *steps("a", 1, 2))
    publish(storing, *steps("a", 7))
    storing.drain()
    assert (sales.seen, stock.seen) == ([], [("a", 7)])
    assert [(row.state, row.attempt) for row in living(selling)] == [("ready", 0)] * 2
    selling.drain()
    assert (sales.seen, stock.seen) == ([("a", 1), ("a", 2)], [("a", 7)])


def test_a_key_parked_in_one_installation_goes_on_in_the_other(
    both: Pair, sales: Journal, stock: Journal
) -> None:
    """OB-11 OB-9"""
    selling, storing = both
    sales.answer("a", 1, PermanentError("there is no such order"))
    publish(selling, *steps("a", 1, 2))
    publish(storing, *steps("a", 1, 2))
    selling.drain()
    storing.drain()
    assert (sales.seen, stock.of("a")) == ([], [1, 2])
    assert (len(letters(selling)), letters(storing)) == (1, [])
    assert statuses(storing) == [("PROCESSED", 1)] * 2


def test_a_worker_is_no_rival_of_one_in_another_installation(both: Pair) -> None:
    """OB-11: each has all the lanes of its own streams."""
    selling, storing = both
    with hands(selling, 1) as (seller,), hands(storing, 1) as (keeper,):
        seller.tick()
        keeper.tick()
        assert shares(selling, STREAM, [seller]) == shares(storing, STREAM, [keeper]) == [LANES]
