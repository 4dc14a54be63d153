"""What a scheduler reads does not grow with the ticks of the past."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, event, insert

from tests.application import application
from tests.jobs.ticking import advance, enqueue_due
from todoke import Todoke

EXPLAIN = {
    "sqlite": "EXPLAIN QUERY PLAN ",
    "postgresql": "EXPLAIN ",
    "mariadb": "EXPLAIN ",
}
PAST = 5_000


def test_ticks_that_wait_are_found_by_their_own_index(migrated_url: str) -> None:
    """JB-2: whether one tick is looked at, or all of them."""
    with application(migrated_url) as app:

        @app.job()
        def report() -> None: ...

        app.schedule(report, every="1h", overlap="queue")
        _fill(app)
        advance(app, "1h")
        enqueue_due(app)
        advance(app, "1h")
        with _noting(app) as said:
            enqueue_due(app)
        asked = {text: values for text, values in said if "'WAITING'" in text}
        assert len(asked) == 2
        with app.engine.begin() as connection:
            for text, values in asked.items():
                plan = _plan(connection, app.database.kind, text, values)
                assert "ticks_waiting" in plan, plan


def _fill(app: Todoke) -> None:
    """Ticks of the past, all of which ran."""
    ticks, start = app.job_room.tables.ticks, datetime(2020, 1, 1, tzinfo=UTC)
    past = [
        {
            "application": app.name,
            "schedule": "report",
            "due": start + timedelta(hours=number),
            "status": "RAN",
            "noted_at": start,
        }
        for number in range(PAST)
    ]
    with app.engine.begin() as connection:
        connection.execute(insert(ticks), past)
        if app.database.kind != "sqlite":
            words = "ANALYZE" if app.database.kind == "postgresql" else "ANALYZE TABLE"
            connection.exec_driver_sql(f"{words} {_name(app)}")


@contextmanager
def _noting(app: Todoke) -> Iterator[list[tuple[str, Any]]]:
    """Statements and their values, as the driver gets them."""
    said: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, text: str, values: Any, *_more: Any) -> None:
        said.append((text, values))

    event.listen(app.engine, "before_cursor_execute", note)
    yield said
    event.remove(app.engine, "before_cursor_execute", note)


def _plan(connection: Connection, kind: str, text: str, values: Any) -> str:
    rows = connection.exec_driver_sql(EXPLAIN[kind] + text, values).all()
    return "\n".join(" ".join(map(str, row)) for row in rows)


def _name(app: Todoke) -> str:
    ticks = app.job_room.tables.ticks
    return f"{ticks.schema}.{ticks.name}" if ticks.schema else ticks.name
