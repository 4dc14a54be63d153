"""What `app.doctor()` finds on every kind of database."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from tests.application import Placed, publish, register
from tests.doctor.examining import application, examined, of, one, verdicts
from tests.servers.place import free_port
from todoke import Todoke
from todoke.clock import SystemClock
from todoke.doctor.clock import judged

HIDDEN = "hidden"


class Skewed:
    """This machine, so many seconds ahead of all others; none that the database would follow."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def monotonic(self) -> float:
        return SystemClock().monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead


def test_a_healthy_database_has_nothing_bad(migrated_url: str) -> None:
    """OP-1: all that is missing is a worker; whatever is ok asks for nothing"""
    found = examined(migrated_url)
    assert verdicts([one for one in found if one.check != "workers"]) == {"ok"}
    assert all((one.remedy is None) == (one.verdict == "ok") for one in found)
    assert "none is running" in one("workers", found).found


def test_an_examination_changes_nothing(migrated_url: str) -> None:
    """OP-1: nothing is written, and no transaction of it stays open"""
    with application(migrated_url) as app, app.engine.connect() as connection:
        before = _rows(app)
        app.doctor()
        assert _rows(app) == before
        assert app.engine.pool.checkedout() == 1  # type: ignore[attr-defined]
        connection.rollback()


def test_a_database_that_is_away_is_the_only_finding(server_url: str) -> None:
    """OP-1: with its address, without its password"""
    nobody = make_url(server_url).set(port=free_port(), password=HIDDEN)
    (found,) = examined(nobody.render_as_string(hide_password=False))
    assert (found.check, found.verdict) == ("database", "bad")
    assert f"127.0.0.1:{nobody.port}" in found.found
    assert "database.url" in str(found.remedy)
    assert HIDDEN not in str(found)


def test_a_missing_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """OP-1: with the extra that has it; without PostgreSQL's there is not even an application"""
    monkeypatch.setitem(sys.modules, "pymysql", None)
    (found,) = examined("mariadb://db/shop")
    assert (found.verdict, "pymysql" in found.found) == ("bad", True)
    assert found.remedy == "pip install 'todoke[mariadb]'"


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """OP-1"""
    (found,) = examined(f"sqlite:///{tmp_path / 'typo.db'}")
    assert (found.verdict, found.found) == ("bad", f"there is no {tmp_path / 'typo.db'}")
    assert not list(tmp_path.iterdir())


def test_missing_tables_are_bad_and_the_rest_is_looked_at(database_url: str) -> None:
    """OP-1"""
    if database_url.startswith("sqlite"):
        Path(str(make_url(database_url).database)).touch()
    found = examined(database_url)
    assert one("tables", found).verdict == "bad"
    assert "todoke migrate" in str(one("tables", found).remedy)
    assert one("durability", found).verdict == "ok"
    assert one("workers", found).verdict == "unknown"
    assert one("backlog", found).verdict == "unknown"


def test_an_old_revision_is_named(migrated_url: str) -> None:
    """OP-1"""
    with application(migrated_url) as app:
        table = ".".join(filter(None, [app.database.schema, app.database.version_table]))
        with app.engine.begin() as connection:
            connection.execute(text(f"UPDATE {table} SET version_num = '0001'"))
        found = one("tables", app.doctor())
    assert found.verdict == "bad"
    assert "0001" in found.found
    assert "todoke migrate" in str(found.remedy)


@pytest.mark.parametrize(
    ("seconds", "verdict", "word"),
    [(0, "ok", ""), (3, "warn", "behind"), (-3, "warn", "ahead of"), (60, "bad", "a third")],
)
def test_a_clock_that_is_off_is_noticed(
    migrated_url: str, seconds: float, verdict: str, word: str
) -> None:
    """design 14: more than 1 s is worth a warning, more than a third of the lease is bad"""
    found = one("clock", examined(migrated_url, clock=Skewed(seconds)))
    assert (found.verdict, word in found.found) == (verdict, True)


def test_what_the_way_to_the_database_took_is_not_held_against_it() -> None:
    """design 14: the answer was made somewhere within the round trip"""
    assert judged(2.0, 1.5, 15).verdict == "ok"
    assert judged(-2.6, 1.5, 15).verdict == "warn"
    assert judged(6.4, 1.5, 15).verdict == "warn"
    assert judged(6.6, 1.5, 15).verdict == "bad"


def test_living_and_silent_workers_are_told_apart(server_url: str) -> None:
    """OB-7"""
    with application(server_url) as app:
        app.migrate()
        register(app, 60)
        assert one("workers", app.doctor()).verdict == "ok"
        register(app, -60)
        silent, living = of("workers", app.doctor())
    assert (silent.verdict, living.verdict) == ("warn", "ok")
    assert "elsewhere:1" in silent.found


def test_the_backlog_is_told(migrated_url: str) -> None:
    """OP-1: more than 100 pending are worth a warning"""
    with application(migrated_url) as app:
        publish(app, *(Placed(order_id=number) for number in range(100)))
        few = one("backlog", app.doctor())
        publish(app, Placed(order_id=100))
        many = one("backlog", app.doctor())
    assert few.verdict == "ok"
    assert few.found.startswith("100 pending, the oldest for ")
    assert many.verdict == "warn"
    assert "todoke status" in str(many.remedy)


def test_an_application_that_cannot_run_breaks_no_other_check(migrated_url: str) -> None:
    """OP-1: a handler that asks for what nobody provides"""
    with application(migrated_url) as app:

        @app.on(Placed)
        def wants(event: Placed, what: Path) -> None: ...

        found = app.doctor()
    assert one("workers", found).verdict == "bad"
    assert "nothing provides Path" in one("workers", found).found
    assert one("backlog", found).verdict == "ok"


def _rows(app: Todoke) -> dict[str, int]:
    with app.engine.connect() as connection:
        return {
            table.name: len(connection.execute(table.select()).all())
            for table in app.metadata.sorted_tables
        }
