"""On SQLite a commit is heard by looking at the file, which hinders nobody."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.application import Placed, application, publish
from tests.waiting import until
from tests.wake.ringing import Heard, listener, ringing_application
from todoke.bell import SOMEBODY
from todoke.databases.sqlite_bell import SqliteEar


def test_a_commit_is_heard(sqlite_copy: str) -> None:
    """design 12"""
    with ringing_application(sqlite_copy) as app, listener(app) as heard:
        for number in range(5):
            publish(app, Placed(order_id=number))
            until(lambda: len(heard.rings) == number + 1)  # noqa: B023
    assert set(heard.rings) == {SOMEBODY}


def test_a_rollback_and_a_read_are_not_heard(sqlite_copy: str) -> None:
    """design 12"""
    with ringing_application(sqlite_copy) as app, listener(app) as heard:
        with app.engine.connect() as connection:
            app.publish(connection, Placed(order_id=1))
            connection.rollback()
            connection.execute(text("SELECT count(*) FROM todoke_outbox"))
            connection.commit()
        publish(app, Placed(order_id=2))
        until(lambda: heard.rings)
    assert len(heard.rings) == 1


def test_a_connection_knows_the_commits_of_others(sqlite_copy: str) -> None:
    """design 12: whose commit it was, the ear cannot tell"""
    with application(sqlite_copy) as app, app.engine.connect() as mine:
        assert app.database.others_committed(mine)  # nothing is known yet
        assert not app.database.others_committed(mine)
        app.publish(mine, Placed(order_id=1))
        mine.commit()
        assert not app.database.others_committed(mine)
        publish(app, Placed(order_id=2))
        assert app.database.others_committed(mine)
        assert not app.database.others_committed(mine)
        app.database.session_mark(mine).close()
        assert app.database.others_committed(mine)  # nobody can tell: better to look


def test_the_ear_keeps_no_read_transaction_open(sqlite_copy: str) -> None:
    """design 12: the write-ahead log can be cut while it listens"""
    with ringing_application(sqlite_copy) as app, listener(app) as heard:
        for number in range(20):
            publish(app, Placed(order_id=number))
        until(lambda: heard.rings)
        with sqlite3.connect(str(app.url.database), isolation_level=None) as connection:
            until(lambda: cut(connection) == (0, 0, 0))
        connection.close()


def test_the_ear_waits_for_a_file_and_notices_a_new_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """design 12: a file restored from a backup is another one"""
    path, heard = tmp_path / "todoke.db", Heard()
    heard.ear = SqliteEar(path, heard.note)
    heard.ear.start()
    try:
        until(lambda: "the ear cannot read" in caplog.text)
        assert not path.exists()
        with application(f"sqlite:///{path}"):
            heard.until_listening()
        with application(f"sqlite:///{tmp_path / 'restored.db'}") as app:
            publish(app, Placed(order_id=1))
        before = len(heard.rings)
        (tmp_path / "restored.db").replace(path)
        until(lambda: len(heard.rings) > before)
        with application(f"sqlite:///{path}") as app:
            before = len(heard.rings)
            publish(app, Placed(order_id=2))
            until(lambda: len(heard.rings) > before)
    finally:
        heard.ear.stop()


def test_the_ear_outlives_a_locked_file(sqlite_copy: str) -> None:
    """design 12"""
    with ringing_application(sqlite_copy) as app, listener(app) as heard:
        path = str(app.url.database)
        app.engine.dispose()
        heard.ear.stop()
        with sqlite3.connect(path, isolation_level=None) as holder:
            holder.execute("PRAGMA journal_mode=DELETE").close()
            second = Heard()
            second.ear = SqliteEar(Path(path), second.note)
            holder.execute("BEGIN EXCLUSIVE")
            second.ear.start()
            holder.execute("CREATE TABLE held (id INTEGER)")
            holder.execute("COMMIT")
            second.until_listening()
            second.ear.stop()
        holder.close()


def cut(connection: sqlite3.Connection) -> tuple[int, ...]:
    """Whether somebody hindered it, and what is left of the log."""
    [found] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return tuple(found)
