"""What `app.doctor()` finds on SQLite."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event, make_url

from tests.doctor.examining import application, examined, of, one
from todoke import Todoke
from todoke.databases.sqlite_health import age


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("PRAGMA synchronous = OFF", "synchronous = off"),
        ("PRAGMA synchronous = NORMAL", "synchronous = normal"),
        ("PRAGMA journal_mode = MEMORY", "journal_mode = memory"),
    ],
)
def test_connections_that_do_not_flush_are_bad(sqlite_copy: str, statement: str, word: str) -> None:
    """reliability B40: an engine of the user's, with a hook that came later than ours"""
    engine = create_engine(sqlite_copy)
    with application(engine) as app:
        app.engine  # noqa: B018
        event.listen(engine, "connect", lambda driver, _: _run(driver, statement))
        found = one("durability", app.doctor())
    engine.dispose()
    assert found.verdict == "bad"
    assert found.found.startswith(word)
    assert "hook" in str(found.remedy)


def test_a_log_that_cannot_be_cut_is_told(sqlite_copy: str) -> None:
    """reliability B25: a reader keeps it growing"""
    file = Path(str(make_url(sqlite_copy).database))
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE something (id)")
        os.truncate(f"{file}-wal", 64 * 1024 * 1024)
        found = one("log", examined(sqlite_copy))
        assert found.verdict == "warn"
        assert "64.0 MiB" in found.found
        assert "wal_checkpoint(TRUNCATE)" in str(found.remedy)
        os.truncate(f"{file}-wal", 640 * 1024 * 1024)
        assert one("log", examined(sqlite_copy)).verdict == "bad"


def test_the_look_at_the_file_is_timed(sqlite_copy: str) -> None:
    """design 12"""
    found = one("wake-up", examined(sqlite_copy))
    assert (found.verdict, "a look at the file takes" in found.found) == ("ok", True)


def test_a_writer_is_not_waited_for(sqlite_copy: str) -> None:
    """OP-1: the examination only reads"""
    with closing(sqlite3.connect(str(make_url(sqlite_copy).database))) as other:
        other.execute("BEGIN IMMEDIATE")
        found = examined(sqlite_copy)
    assert {one.verdict for one in found if one.check != "workers"} == {"ok"}


def test_a_file_has_no_server(sqlite_copy: str) -> None:
    """OP-1: what does not apply is not told"""
    found = examined(sqlite_copy, settings={"worker.processes": 1000})
    assert not [*of("connections", found), *of("tls", found), *of("transactions", found)]


def test_an_old_library_is_bad() -> None:
    """design 3: UPDATE … RETURNING came with 3.35"""
    assert [age(version).verdict for version in ((3, 34, 1), (3, 35, 0))] == ["bad", "ok"]


def test_a_database_in_memory_is_examined() -> None:
    """OP-1"""
    app = Todoke("sqlite://")
    app.migrate()
    found = app.doctor()
    app.close()
    assert "in memory" in one("durability", found).found
    assert "poll" in one("wake-up", found).found


def _run(driver: Any, statement: str) -> None:
    driver.execute(statement).close()
