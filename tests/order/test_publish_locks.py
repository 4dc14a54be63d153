"""Publishing locks its keys: ids of one key are drawn in the order of commits."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from sqlalchemy import text

from tests.application import application, living, publish
from tests.order.walks import Journal, Walked, listen, steps
from tests.waiting import until
from todoke import Todoke
from todoke.work.strand import strand_of

WAITING = {
    "postgresql": "SELECT count(*) FROM pg_locks JOIN pg_database ON oid = database "
    "WHERE datname = current_database() AND NOT granted AND locktype = 'advisory'",
    # Its table of waiting transactions is not renewed while somebody keeps looking.
    "mariadb": "SELECT count(*) FROM information_schema.processlist WHERE db = database() "
    "AND id <> connection_id() AND command = 'Query' AND time_ms > 200",
}


@pytest.fixture(params=["postgres", "mariadb"])
def app(request: pytest.FixtureRequest) -> Iterator[Todoke]:
    with application(request.getfixturevalue(f"{request.param}_copy")) as app:
        yield app


def waiting(app: Todoke) -> int:
    with app.engine.connect() as connection:
        return int(connection.execute(text(WAITING[app.database.kind])).scalar_one())


@contextmanager
def beside(app: Todoke, events: Sequence[Walked], **options: bool) -> Iterator[threading.Thread]:
    """Another transaction publishes them, in a thread of its own; it has ended at the end."""
    thread = threading.Thread(target=publish, args=[app, *events], kwargs=options)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(30)
        assert not thread.is_alive()


def published(app: Todoke) -> list[int]:
    return [row.step for row in map(_step, living(app))]


def _step(row: object) -> Walked:
    return Walked.model_validate_json(row.body)  # type: ignore[attr-defined]


def test_a_second_transaction_on_a_key_waits_for_the_first(app: Todoke, journal: Journal) -> None:
    """OB-9 OB-6: so that ids follow the order of commits"""
    listen(app, journal)
    with app.engine.connect() as connection, connection.begin() as first:
        app.publish(connection, Walked(walker="a", step=1))
        with beside(app, steps("a", 3)):
            until(lambda: waiting(app) == 1)
            app.publish(connection, Walked(walker="a", step=2))
            first.commit()
    assert published(app) == [1, 2, 3]
    app.drain()
    assert journal.of("a") == [1, 2, 3]


def test_a_rollback_lets_the_second_go_on(app: Todoke) -> None:
    """OB-9"""
    with app.engine.connect() as connection, connection.begin() as first:
        app.publish(connection, Walked(walker="a", step=1))
        with beside(app, steps("a", 2)):
            until(lambda: waiting(app) == 1)
            first.rollback()
    assert published(app) == [2]


def test_other_keys_do_not_wait(app: Todoke) -> None:
    """OB-9 OB-6"""
    other = next(name for name in map(str, range(100)) if lock(name) != lock("a"))
    with app.engine.begin() as connection:
        app.publish(connection, Walked(walker="a", step=1))
        with beside(app, steps(other, 2)):
            until(lambda: published(app) == [2])


def lock(walker: str) -> int:
    """MariaDB has so many locks for all keys."""
    return strand_of("todoke/default", "walk", walker, None) % 4096


def test_who_has_locked_the_aggregate_already_need_not_be_locked_again(app: Todoke) -> None:
    """OB-9 OB-6"""
    with app.engine.begin() as connection:
        app.publish(connection, Walked(walker="a", step=1))
        with beside(app, steps("a", 2), locked=True):
            until(lambda: published(app) == [2])


def test_delayed_events_keep_no_order_and_lock_nothing(app: Todoke) -> None:
    """OB-9 OB-2"""
    with app.engine.begin() as connection:
        app.publish(connection, Walked(walker="a", step=1), delay="1m")
        with beside(app, steps("a", 2)):
            until(lambda: published(app) == [2])


def test_thousands_of_keys_in_one_transaction_are_no_trouble(app: Todoke) -> None:
    """OB-9 OB-6: they do not use up the server's memory for locks"""
    many = [Walked(walker=str(number), step=number) for number in range(5000)]
    with app.engine.connect() as connection, connection.begin() as first:
        app.publish_all(connection, many)
        with beside(app, steps("17", 9999)):
            until(lambda: waiting(app) == 1)
            first.commit()
    assert published(app) == [*range(5000), 9999]


def test_thousands_of_keys_wait_for_one_of_them(app: Todoke) -> None:
    """OB-9: few and many keys respect each other"""
    many = [Walked(walker=str(number), step=number) for number in range(5000)]
    with app.engine.connect() as connection, connection.begin() as first:
        app.publish(connection, Walked(walker="17", step=9999))
        with beside(app, many):
            until(lambda: waiting(app) == 1)
            first.commit()
    assert published(app) == [9999, *range(5000)]


def test_two_that_publish_to_the_same_keys_do_not_block_each_other(app: Todoke) -> None:
    """OB-9 OB-6: whatever order they name them in"""
    names = [str(number) for number in range(50)]
    together = threading.Barrier(2, timeout=30)

    def work(order: list[str]) -> None:
        together.wait()
        for step in range(20):
            publish(app, *(Walked(walker=name, step=step) for name in order))

    threads = [threading.Thread(target=work, args=[one]) for one in (names, names[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(published(app)) == 2 * 20 * 50
