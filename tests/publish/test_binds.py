"""A session's events go where todoke's tables are, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tests.application import Placed, application, living
from tests.publish.test_sessions import Order
from todoke import Todoke
from todoke.errors import NotInTransaction, OtherDatabase, TodokeError


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{tmp_path / 'other.db'}")
    yield engine
    engine.dispose()


def test_a_session_on_another_database_is_refused(app: Todoke, other: Engine) -> None:
    """OB-1"""
    with Session(other) as session, pytest.raises(OtherDatabase, match="its own Todoke"):
        app.publish(session, Placed(order_id=1))


def test_a_connection_on_another_database_is_refused(app: Todoke, other: Engine) -> None:
    """OB-1"""
    with other.begin() as connection, pytest.raises(OtherDatabase, match=re.escape("other.db")):
        app.publish(connection, Placed(order_id=1))


async def test_async_handles_on_another_database_are_refused(app: Todoke, other: Engine) -> None:
    """OB-1"""
    engine = create_async_engine(other.url.set(drivername="sqlite+aiosqlite"))
    async with AsyncSession(engine) as session, engine.begin() as connection:
        with pytest.raises(OtherDatabase):
            app.publish(session, Placed(order_id=1))
        with pytest.raises(OtherDatabase):
            await app.publish(connection, Placed(order_id=1))
    await engine.dispose()


def test_another_in_memory_database_is_refused() -> None:
    """OB-1: two of them have the same address and nothing else in common"""
    other = create_engine("sqlite://")
    with application("sqlite://") as app, Session(other) as session, pytest.raises(OtherDatabase):
        app.publish(session, Placed(order_id=1))


def test_one_file_by_two_paths_is_one_database(
    sqlite_copy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-1"""
    monkeypatch.chdir(tmp_path)
    engine = create_engine("sqlite:///todoke.db")
    with application(sqlite_copy) as app:
        with Session(engine) as session, session.begin():
            app.publish(session, Placed(order_id=1))
        assert len(living(app)) == 1
    engine.dispose()


def test_a_refusal_shows_no_password(app: Todoke) -> None:
    """OB-1 SE-2"""
    engine = create_engine("postgresql+psycopg://me:secret@elsewhere/shop")
    with Session(engine) as session, pytest.raises(OtherDatabase) as refusal:
        app.publish(session, Placed(order_id=1))
    assert "secret" not in str(refusal.value)


def test_an_engine_that_always_commits_is_refused_before_anything_is_written(
    app: Todoke,
) -> None:
    """OB-1"""
    url = app.url.render_as_string(hide_password=False)
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with Session(engine) as session, pytest.raises(NotInTransaction):
        app.publish(session, Placed(order_id=1))
    engine.dispose()


def test_a_session_with_several_binds_writes_where_the_tables_are(
    app: Todoke, other: Engine
) -> None:
    """OB-1"""
    Order.metadata.create_all(other)
    binds: dict[Any, Any] = {Order: other, app.outbox_table.live: app.engine}
    with Session(binds=binds) as session, session.begin():
        session.add(Order(id=1))
        app.publish(session, Placed(order_id=1))
    assert len(living(app)) == 1


def test_a_session_that_binds_all_but_the_outbox_is_refused(app: Todoke, other: Engine) -> None:
    """OB-1"""
    with Session(binds={Order: other}) as session, pytest.raises(OtherDatabase, match="`binds`"):
        app.publish(session, Placed(order_id=1))


def test_what_is_no_transaction_is_refused(app: Todoke) -> None:
    """OB-1"""
    with pytest.raises(TodokeError, match="Pass the transaction your change is made in"):
        app.publish(app.engine, Placed(order_id=1))  # type: ignore[call-overload]


def test_a_two_phase_commit_keeps_the_event(postgres_copy: str) -> None:
    """OB-1"""
    with application(postgres_copy) as app:
        with Session(app.engine, twophase=True) as session:
            app.publish(session, Placed(order_id=1))
            session.prepare()
            session.commit()
        assert len(living(app)) == 1


def test_a_two_phase_rollback_drops_the_event(postgres_copy: str) -> None:
    """OB-1"""
    with application(postgres_copy) as app:
        with Session(app.engine, twophase=True) as session:
            app.publish(session, Placed(order_id=1))
            session.prepare()
            session.rollback()
        assert living(app) == []


def test_a_raw_connection_of_an_engine_is_its_drivers(app: Todoke) -> None:
    """OB-1"""
    for order, ends in ((1, "rollback"), (2, "commit")):
        raw = app.engine.raw_connection()
        if app.database.kind == "sqlite":
            raw.cursor().execute("BEGIN")
        app.publish(raw, Placed(order_id=order))
        getattr(raw, ends)()
        raw.close()
    assert [row.key for row in living(app)] == ["2"]
