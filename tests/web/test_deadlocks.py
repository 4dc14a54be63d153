"""A deadlock while a key is accepted: what else the transaction did is never lost in silence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tests.web.orders import entries, orders, shop
from todoke import Todoke
from todoke.fastapi import Once


@contextmanager
def a_session_with_a_past(app: Todoke) -> Iterator[Session]:
    with app.session() as session:
        session.execute(change("matcha"))
        yield session


@contextmanager
def a_session_on_a_connection_with_a_past(app: Todoke) -> Iterator[Session]:
    with app.engine.begin() as connection:
        connection.execute(change("matcha"))
        with Session(connection) as session:
            yield session
            session.commit()


def change(article: str) -> Any:
    return orders.update().where(orders.c.id == 1).values(article=article)


@pytest.mark.parametrize("begin", [a_session_with_a_past, a_session_on_a_connection_with_a_past])
def test_a_transaction_that_has_done_something_is_not_begun_again(
    mariadb_copy: str, begin: Callable[[Todoke], Any]
) -> None:
    """ID-3: MariaDB has taken back what it did, so its caller is told to ask again"""
    with shop(mariadb_copy) as app:
        with app.session() as session:
            session.execute(orders.insert().values(id=1, article="sencha"))
        has_a_past, outcome = threading.Event(), list[object]()
        loser = threading.Thread(target=lose, args=(app, begin, has_a_past, outcome))
        with app.session() as session:
            # The heavier of the two wins.
            session.execute(orders.insert(), [{"article": "tea"} for _ in range(200)])
            Once(app, "key").accept(session, {})
            loser.start()
            assert has_a_past.wait(10)
            session.execute(change("hojicha"))
            session.rollback()
        loser.join(30)
        assert [type(one) for one in outcome] == [OperationalError]
        assert entries(app) == []


def lose(
    app: Todoke,
    begin: Callable[[Todoke], Any],
    has_a_past: threading.Event,
    outcome: list[object],
) -> None:
    try:
        with begin(app) as session:
            has_a_past.set()
            outcome.append(Once(app, "key").accept(session, {}))
    except OperationalError as error:
        outcome.append(error)
