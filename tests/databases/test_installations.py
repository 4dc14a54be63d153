"""More than one installation of todoke in one database: a schema (or a prefix) for each."""

from __future__ import annotations

from tests.application import application, letters, living, publish, statuses
from tests.order.walks import Journal, listen, steps
from todoke import PermanentError


def names(name: str) -> dict[str, object]:
    return {"database.schema": name, "database.prefix": f"{name}_"}


def test_two_installations_in_one_database_know_nothing_of_each_other(database_url: str) -> None:
    """OB-11: on PostgreSQL a schema for each context."""
    sales, stock = Journal(), Journal()
    with (
        application(database_url, settings=names("sales")) as selling,
        application(database_url, settings=names("stock")) as storing,
    ):
        listen(selling, sales)
        listen(storing, stock)
        publish(selling, *steps("a", 1, 2))
        publish(storing, *steps("a", 7))
        storing.drain()
        assert (sales.seen, stock.seen) == ([], [("a", 7)])
        assert [(row.state, row.attempt) for row in living(selling)] == [("ready", 0)] * 2
        selling.drain()
        assert (sales.seen, stock.seen) == ([("a", 1), ("a", 2)], [("a", 7)])


def test_a_key_parked_in_one_installation_goes_on_in_the_other(database_url: str) -> None:
    """OB-11 OB-9"""
    sales, stock = Journal(), Journal()
    with (
        application(database_url, settings=names("sales")) as selling,
        application(database_url, settings=names("stock")) as storing,
    ):
        listen(selling, sales)
        listen(storing, stock)
        sales.answer("a", 1, PermanentError("there is no such order"))
        publish(selling, *steps("a", 1, 2))
        publish(storing, *steps("a", 1, 2))
        selling.drain()
        storing.drain()
        assert (sales.seen, stock.of("a")) == ([], [1, 2])
        assert (len(letters(selling)), letters(storing)) == (1, [])
        assert statuses(storing) == [("PROCESSED", 1)] * 2
