"""Old rows are found through an index, in every database, however full the tables are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event, insert, text

from tests.retention.old_rows import keeping
from todoke import Todoke
from todoke.clock import SystemClock
from todoke.telemetry import Counts

ROWS = 3000
NOW = datetime.now(UTC)


@pytest.fixture
def full(migrated_url: str, tmp_path: Path) -> Iterator[Todoke]:
    """History and letters of which nothing is due yet, under the database's own time."""
    with keeping(migrated_url, SystemClock(), **{"archive.to": str(tmp_path / "archive")}) as app:
        with app.engine.begin() as connection:
            for table in (app.outbox_table.history, app.inbox_table.history):
                connection.execute(insert(table), [_processed(app, n) for n in range(1, ROWS)])
            for closed in (None, NOW):
                letters = [_letter(app, n, closed) for n in range(1, ROWS)]
                connection.execute(insert(app.letter_table), letters)
            entries = [_entry(app, n) for n in range(1, ROWS)]
            connection.execute(insert(app.ledger.table), entries)
        _analyze(app)
        yield app


def _processed(app: Todoke, number: int) -> dict[str, Any]:
    return {**_carried(app, number), "id": number, "settled_at": NOW - timedelta(seconds=number)}


def _letter(app: Todoke, number: int, closed: datetime | None) -> dict[str, Any]:
    told = {"source": "event", "name": "note", "item_id": number, "died_at": NOW}
    return {
        **_carried(app, number),
        **told,
        "id": app.identities.draw(),
        "closed_at": closed,
        "closed_as": closed and "resolved",
    }


def _entry(app: Todoke, number: int) -> dict[str, Any]:
    return {
        **dict.fromkeys(("tenant", "caller", "operation", "digest"), "…"),
        **dict.fromkeys(("id", "message_id"), app.identities.draw()),
        "key": str(number),
        "state": "failed",
        "keeps": 60.0,
        "accepted_at": NOW,
        "settled_at": NOW,
        "expires_at": NOW + timedelta(days=1, seconds=number),
    }


def _carried(app: Todoke, number: int) -> dict[str, Any]:
    return {
        "message_id": app.identities.draw(),
        "context": "todoke",
        "stream": "todoke/default",
        "type": "noted",
        "aggregate": "noted",
        "key": str(number),
        "body": "{}",
        "created_at": NOW,
    }


def _analyze(app: Todoke) -> None:
    tables = [app.outbox_table.history, app.inbox_table.history, app.letter_table, app.ledger.table]
    with app.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in tables:
            name = f"{table.schema}.{table.name}" if table.schema else table.name
            word = "ANALYZE TABLE" if app.database.kind == "mariadb" else "ANALYZE"
            connection.execute(text(f"{word} {name}"))


def _plans(app: Todoke) -> list[tuple[str, str]]:
    """Each statement that an idle look runs, with its plan."""
    asked: list[tuple[str, Any]] = []

    def note(_1: object, _2: object, statement: str, parameters: Any, *_more: object) -> None:
        if statement.startswith("SELECT"):
            asked.append((statement, parameters))

    cleaner = app.archive.cleaner(Counts())
    with app.agents_engine.connect() as connection:
        event.listen(app.agents_engine, "before_cursor_execute", note)
        assert cleaner.tick(connection) == 60.0
        event.remove(app.agents_engine, "before_cursor_execute", note)
        return [(one, _plan(connection, app, one, values)) for one, values in asked]


def _plan(connection: Connection, app: Todoke, statement: str, values: Any) -> str:
    word = "EXPLAIN QUERY PLAN" if app.database.kind == "sqlite" else "EXPLAIN"
    told = connection.exec_driver_sql(f"{word} {statement}", values).all()
    return "\n".join(str(tuple(row)) for row in told)


# What tells, in each database's words, that a statement went through an index or read it all.
BY_ID = {"sqlite": "INTEGER PRIMARY KEY", "postgresql": "_history_pkey", "mariadb": "'PRIMARY'"}
ALL_OF_IT = {"sqlite": "SCAN todoke", "postgresql": "Seq Scan", "mariadb": "'ALL'"}


def test_old_rows_are_found_through_an_index(full: Todoke) -> None:
    """OB-12 ID-1: and history by its primary key, whatever other indexes it has"""
    by_id, everything = BY_ID[full.database.kind], ALL_OF_IT[full.database.kind]
    plans = [plan for _, plan in _plans(full)]
    histories = [by_id, "history_expires"] * 2
    wanted = [*histories, "ledger_expires", "dead_letters_open", "dead_letters_open"]
    assert len(plans) == len(wanted)
    for plan, index in zip(plans, wanted, strict=True):
        assert index in plan
        assert everything not in plan
