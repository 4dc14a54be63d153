"""What is particular to sessions: events wait like `session.add` and go in before the commit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Integer, create_engine, event
from sqlalchemy.ext.asyncio import async_scoped_session, async_sessionmaker
from sqlalchemy.orm import (
    DeclarativeBase,
    Mapped,
    Session,
    mapped_column,
    scoped_session,
    sessionmaker,
)

from tests.application import Placed, living
from todoke import Todoke


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    seen: Mapped[int | None]


def published(app: Todoke) -> list[int]:
    return [int(row.key) for row in living(app)]


@pytest.fixture
def session(app: Todoke) -> Iterator[Session]:
    with Session(app.engine) as session:
        yield session


def test_closing_drops_what_was_not_committed(app: Todoke, session: Session) -> None:
    """OB-1"""
    app.publish(session, Placed(order_id=1))
    session.close()
    app.publish(session, Placed(order_id=2))
    session.commit()
    assert published(app) == [2]


def test_leaving_the_block_with_an_open_savepoint_keeps_all(app: Todoke) -> None:
    """OB-1"""
    with Session(app.engine) as session, session.begin():
        app.publish(session, Placed(order_id=1))
        session.begin_nested()
        app.publish(session, Placed(order_id=2))
    assert published(app) == [1, 2]


def test_a_rollback_of_all_leaves_no_savepoint_behind(app: Todoke, session: Session) -> None:
    """OB-1"""
    session.begin_nested()
    app.publish(session, Placed(order_id=1))
    session.begin_nested().commit()
    session.rollback()
    session.commit()
    assert published(app) == []


def test_an_event_written_early_by_a_savepoint_is_written_again(
    app: Todoke, session: Session
) -> None:
    """OB-1"""
    app.publish(session, Placed(order_id=1))
    outer = session.begin_nested()
    session.begin_nested().commit()
    outer.rollback()
    session.commit()
    assert published(app) == [1]


def test_a_flush_writes_no_event(app: Todoke, session: Session) -> None:
    """OB-1"""
    app.publish(session, Placed(order_id=1))
    session.flush()
    assert session.connection().execute(app.outbox_table.live.select()).all() == []


def test_the_callers_objects_are_written_before_the_events(app: Todoke, session: Session) -> None:
    """OB-1"""
    written: list[str] = []
    event.listen(app.engine, "before_cursor_execute", lambda *call: written.append(call[2]))
    app.publish(session, Placed(order_id=1))
    session.add(Order(id=1))
    session.commit()
    into = [statement.split()[2] for statement in written if statement.startswith("INSERT")]
    locks = f"{app.database.prefix}strands"  # MariaDB's locks of keys are rows
    assert [one for one in into if one != locks] == ["orders", app.outbox_table.live.fullname]
    assert into[0] == "orders"


def test_an_object_that_cannot_be_written_takes_the_event_along(
    app: Todoke, session: Session
) -> None:
    """OB-1"""
    app.publish(session, Placed(order_id=1))
    session.add(Order(id="no number"))
    with pytest.raises(Exception, match=r"no number|orders"):
        session.commit()
    session.rollback()
    session.commit()
    assert published(app) == []


@pytest.mark.parametrize("hook", ["before_commit", "before_flush", "after_flush"])
def test_an_event_published_by_a_hook_of_the_commit_is_kept(
    app: Todoke, session: Session, hook: str
) -> None:
    """OB-1: aggregates are often asked for their events as late as this"""

    def collect(session: Session, *_: object) -> None:
        app.publish(session, Placed(order_id=1))

    event.listen(session, hook, collect, once=True)
    session.add(Order(id=1))
    session.commit()
    assert published(app) == [1]


@pytest.mark.parametrize("hook", ["before_commit", "before_flush", "after_flush"])
def test_a_hooks_event_is_kept_beside_the_callers_own(
    app: Todoke, session: Session, hook: str
) -> None:
    """OB-1"""

    def collect(session: Session, *_: object) -> None:
        app.publish(session, Placed(order_id=2))

    event.listen(session, hook, collect, once=True)
    app.publish(session, Placed(order_id=1))
    session.add(Order(id=1))
    session.commit()
    assert sorted(published(app)) == [1, 2]


def test_a_hooks_event_falls_with_its_savepoint(app: Todoke, session: Session) -> None:
    """OB-1"""
    outer = session.begin_nested()
    event.listen(session, "before_commit", lambda s: app.publish(s, Placed(order_id=1)), once=True)
    session.begin_nested().commit()
    outer.rollback()
    app.publish(session, Placed(order_id=2))
    session.commit()
    assert published(app) == [2]


def test_an_event_published_after_the_commit_is_refused(app: Todoke, session: Session) -> None:
    """OB-1: it must not be lost in silence"""
    event.listen(session, "after_commit", lambda s: app.publish(s, Placed(order_id=1)), once=True)
    session.add(Order(id=1))
    with pytest.raises(Exception, match="committed"):
        session.commit()
    session.close()
    assert published(app) == []


def test_a_scoped_session_is_a_session(app: Todoke) -> None:
    """OB-1"""
    registry = scoped_session(sessionmaker(app.engine))
    app.publish(registry, Placed(order_id=1))
    registry.commit()
    registry.remove()
    assert published(app) == [1]


async def test_an_async_scoped_session_is_a_session(app: Todoke) -> None:
    """OB-1"""
    registry = async_scoped_session(async_sessionmaker(app.async_engine), scopefunc=lambda: 1)
    app.publish(registry, Placed(order_id=1))
    await registry.commit()
    await registry.remove()
    assert published(app) == [1]


def test_a_sessionmaker_on_the_callers_own_engine_is_fine(app: Todoke) -> None:
    """OB-1"""
    engine = create_engine(app.url.render_as_string(hide_password=False))
    with sessionmaker(engine).begin() as session:
        session.add(Order(id=1))
        app.publish(session, Placed(order_id=1))
    engine.dispose()
    assert published(app) == [1]


def test_two_sessions_do_not_see_each_others_events(app: Todoke) -> None:
    """OB-1"""
    with Session(app.engine) as one, Session(app.engine) as other:
        app.publish(one, Placed(order_id=1))
        app.publish(other, Placed(order_id=2))
        one.rollback()
        other.commit()
    assert published(app) == [2]


def test_a_session_joined_to_the_callers_connection_follows_it(app: Todoke) -> None:
    """OB-1"""
    with app.engine.connect() as connection:
        outer = connection.begin()
        with Session(connection, join_transaction_mode="create_savepoint") as session:
            app.publish(session, Placed(order_id=1))
            session.commit()
        outer.rollback()
    assert published(app) == []
