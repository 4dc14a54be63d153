"""An application is moved for a test, and comes back as it was."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect
from sqlalchemy.orm import Session, sessionmaker

from tests.testing import post
from tests.testing.post import Mailer, OrderCancelled, OrderConfirmed, OrderMailed, publish, sold
from todoke import Event, Settings, Todoke
from todoke.errors import InvalidOption, OtherDatabase
from todoke.testing import Harness


@pytest.fixture
def here() -> Iterator[Harness]:
    """Where the database does not matter."""
    with Harness(post.app, tables=post.tables) as harness:
        yield harness


def file_of(harness: Harness) -> Path:
    return Path(str(harness.app.url.database))


def test_the_application_is_afterwards_as_it_was(tmp_path: Path) -> None:
    """TS-1"""
    engine = create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    app = Todoke(engine, settings=Settings({}, environment={}))
    before, mine = vars(app).copy(), app.engine
    with Harness(app):
        assert app.engine is not mine
        assert app.clock is not before["clock"]
    del before["places"]
    assert {name: one for name, one in vars(app).items() if name in before} == before
    assert app.engine is mine
    assert not (tmp_path / "own.db").exists()
    app.close()
    engine.dispose()


def test_it_comes_back_after_a_failed_test(tmp_path: Path) -> None:
    """TS-1"""
    app = Todoke(f"sqlite:///{tmp_path / 'own.db'}", settings=Settings({}, environment={}))
    with pytest.raises(ZeroDivisionError), Harness(app):
        _ = 1 / 0
    assert app.url.database == str(tmp_path / "own.db")


def test_each_test_finds_an_empty_database_and_the_clock_at_its_start(todoke: Harness) -> None:
    """TS-1"""
    started = todoke.clock.now()
    publish(todoke, OrderCancelled(order_id=1), OrderMailed(order_id=2))
    todoke.drain()
    publish(todoke, OrderMailed(order_id=2))
    todoke.clock.advance("3d")
    todoke.__exit__(None, None, None)
    with todoke:
        assert todoke.published(Event) == []
        assert todoke.clock.now() == started
        assert todoke.story().endswith("No events and no jobs.")
        assert sold(todoke) == 0


def test_an_application_is_in_one_harness_at_a_time(here: Harness) -> None:
    """TS-1"""
    with pytest.raises(InvalidOption, match="leave that first"), Harness(post.app):
        pass
    publish(here, OrderCancelled(order_id=1))


def other() -> Todoke:
    return Todoke(settings=Settings({"name": "post"}, environment={}))


def test_nothing_is_left_behind(here: Harness) -> None:
    """TS-1: no file, no thread, no open connection"""
    threads = threading.active_count()
    with Harness(other(), tables=post.tables) as harness:
        folder = file_of(harness).parent
        assert folder.is_dir()
        publish_and_drain(harness)
    assert not folder.exists()
    assert threading.active_count() == threads
    gc.collect()


def publish_and_drain(harness: Harness) -> None:
    with harness.session() as session:
        harness.app.publish(session, OrderConfirmed(order_id=1))
    harness.drain()


def test_a_harness_is_used_again_and_again() -> None:
    """TS-1: what was built for the first test serves the next ones"""
    harness = Harness(post.app, tables=post.tables)
    for _ in range(3):
        with harness:
            mailer = harness.override(Mailer, Mailer())
            publish(harness, OrderMailed(order_id=1))
            harness.drain()
            assert mailer.sent == 1


def test_an_override_ends_with_its_test() -> None:
    """TS-1"""
    with Harness(post.app, tables=post.tables) as first:
        overridden = first.override(Mailer, Mailer())
    with Harness(post.app, tables=post.tables) as second:
        publish(second, OrderMailed(order_id=1))
        second.drain()
    assert overridden.calls == []
    assert (post.provided[-1].sent, post.provided[-1].closed) == (1, True)


def test_an_override_that_nobody_asks_for_is_refused(here: Harness) -> None:
    """TS-1: a test that cannot fail would be the result"""
    with pytest.raises(InvalidOption, match="bytearray"):
        here.override(bytearray, bytearray())


def test_sessions_of_ones_own_making_go_to_the_tests_database(tmp_path: Path) -> None:
    """TS-1"""

    class Special(Session):
        pass

    engine = create_engine(f"sqlite:///{tmp_path / 'own.db'}")
    make = sessionmaker(engine, class_=Special, expire_on_commit=False)
    app = Todoke(engine, settings=Settings({}, environment={}), session=make)
    with Harness(app) as harness, harness.session() as session:
        assert isinstance(session, Special)
        assert not session.expire_on_commit
        assert session.connection().engine is harness.engine
    with make() as own:
        assert own.get_bind() is engine
    engine.dispose()


def test_a_session_on_the_real_database_is_refused(here: Harness, tmp_path: Path) -> None:
    """TS-1: no test publishes where it should not"""
    engine = create_engine(f"sqlite:///{tmp_path / 'real.db'}")
    with Session(engine) as session, pytest.raises(OtherDatabase):
        post.ordering.publish(session, OrderCancelled(order_id=1))
    engine.dispose()


def test_the_applications_own_database_is_never_emptied(tmp_path: Path) -> None:
    """TS-1"""
    url = f"sqlite:///{tmp_path / 'own.db'}"
    app = Todoke(url, settings=Settings({}, environment={}))
    with pytest.raises(InvalidOption, match="one of their own"), Harness(app, database=url):
        pass
    assert not (tmp_path / "own.db").exists()


def test_tables_may_be_made_by_a_function(tmp_path: Path) -> None:
    """TS-1: by migrations, for example; once for all tests"""
    calls: list[object] = []

    def migrate(engine: object) -> None:
        calls.append(engine)
        post.tables.create_all(engine)  # type: ignore[arg-type]

    for _ in range(2):
        with Harness(other(), tables=migrate) as harness:
            assert "sales" in inspect(harness.engine).get_table_names()
    assert len(calls) == 1
    harness.app.close()


def test_a_harness_that_was_not_entered_says_so() -> None:
    """TS-1"""
    with pytest.raises(InvalidOption, match="with Harness"):
        Harness(post.app).clock.advance("1s")
