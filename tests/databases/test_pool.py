"""Connections that have rested are tried before use; busy ones are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from sqlalchemy import Engine, make_url, text

from todoke.clock import SystemClock
from todoke.databases import pool, sqlite
from todoke.databases.mariadb import MariaDb
from todoke.databases.postgres import Postgres
from todoke.databases.sqlite import Sqlite

KINDS: dict[str, Any] = {"postgres": Postgres, "mariadb": MariaDb}
WHO = {"postgres": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
KILL = {"postgres": "SELECT pg_terminate_backend({})", "mariadb": "KILL {}"}


@pytest.fixture(params=["postgres", "mariadb"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def engine(request: pytest.FixtureRequest, kind: str) -> Iterator[Engine]:
    url = make_url(request.getfixturevalue(f"{kind}_database"))
    engine = KINDS[kind](SystemClock(), None, "todoke_").engine(url, pool_size=1)
    yield engine
    engine.dispose()


def who(engine: Engine, kind: str) -> int:
    with engine.connect() as connection:
        return int(connection.execute(text(WHO[kind])).scalar_one())


def pings(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    ping = engine.dialect.do_ping

    def noted(connection: Any) -> bool:
        seen.append(connection)
        return bool(ping(connection))

    monkeypatch.setattr(engine.dialect, "do_ping", noted)
    return seen


def test_one_that_died_while_it_rested_is_replaced(
    engine: Engine, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-7"""
    victim = who(engine, kind)
    monkeypatch.setattr(pool, "_A_WHILE", 0.0)
    other = KINDS[kind](SystemClock(), None, "todoke_").engine(engine.url, pool_size=1)
    with other.connect() as connection:
        connection.execute(text(KILL[kind].format(victim)))
    other.dispose()
    assert who(engine, kind) != victim


def test_one_that_was_just_in_use_is_not_asked(
    engine: Engine, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-5: a trip to the server less for each transaction."""
    asked = pings(engine, monkeypatch)
    monkeypatch.setattr(pool, "_A_WHILE", 3600.0)
    assert who(engine, kind) == who(engine, kind)
    assert asked == []
    monkeypatch.setattr(pool, "_A_WHILE", 0.0)
    who(engine, kind)
    assert len(asked) == 1


def test_who_opens_a_new_file_waits_for_another_who_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-7: SQLite refuses at once, whatever the time-out, while another changes the journal."""
    other = connect(tmp_path / "new.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(sqlite, "sleep", lambda _seconds: other.execute("COMMIT"))
    url = make_url(f"sqlite:///{tmp_path / 'new.db'}")
    engine = Sqlite(SystemClock(), None, "todoke_").engine(url, 1, patience=0.0)
    with engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
    engine.dispose()
    other.close()
