"""todoke's own tables: created and upgraded in one step, safe to repeat, checked at start."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text

from tests.application import Placed, application, living, publish
from todoke import Settings, Todoke
from todoke.databases.schema import REVISION
from todoke.databases.upgrade import SCRIPTS
from todoke.errors import SchemaOutdated
from todoke.runtime import Runtime
from todoke.testing import Clock

MIGRATE = """
import sys
from todoke import Settings, Todoke
Todoke(sys.argv[1], settings=Settings({}, environment={})).migrate()
"""


def unmigrated(url: str, **settings: object) -> Todoke:
    return Todoke(url, clock=Clock(), settings=Settings(settings, environment={}))


def test_migrating_twice_is_fine_and_keeps_what_is_there(database_url: str) -> None:
    """OB-2"""
    with application(database_url) as app:
        publish(app, Placed(order_id=1))
        app.migrate()
        assert len(living(app)) == 1


@pytest.mark.parametrize("settings", [{}, {"database.schema": "", "database.prefix": "mail_"}])
def test_the_tables_are_what_the_code_expects(
    database_url: str, settings: dict[str, object]
) -> None:
    """OB-2"""
    with application(database_url, settings=settings) as app:
        assert differences(app) == []


def differences(app: Todoke) -> list[Any]:
    options = {
        "version_table": app.database.version_table,
        "version_table_schema": app.database.schema,
        "include_schemas": True,
        "compare_server_default": app.database.kind == "postgresql",
        "include_name": lambda name, kind, _: kind != "schema" or name == app.database.schema,
    }
    with app.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, app.metadata))


def test_the_newest_migration_is_the_one_that_is_asked_for() -> None:
    """OB-2"""
    assert ScriptDirectory(str(SCRIPTS)).get_current_head() == REVISION


def test_alembic_is_loaded_only_to_migrate() -> None:
    """OB-2: it would take as long to load, and as much memory, as all of todoke."""
    loads = "import sys, todoke.cli.worker.child; sys.exit('alembic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads], check=False).returncode == 0


def test_the_printed_statements_do_the_same_by_hand(postgres_database: str) -> None:
    """OB-2"""
    app = unmigrated(postgres_database)
    statements = app.migration_sql()
    with app.engine.connect() as connection:
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.cursor().execute(statements)
        driver.commit()
    assert differences(app) == []
    publish(app, Placed(order_id=1))
    app.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_printing_the_statements_needs_no_server(kind: str) -> None:
    """OB-2 SE-2"""
    url = "sqlite:///nowhere.db" if kind == "sqlite" else "postgresql+psycopg://me:secret@no/shop"
    printed = unmigrated(url).migration_sql()
    assert "CREATE TABLE" in printed
    assert "secret" not in printed


def test_a_worker_refuses_to_work_without_tables(database_url: str) -> None:
    """OB-2"""
    app = unmigrated(database_url)
    with pytest.raises(SchemaOutdated, match=r"are missing.*Run `todoke migrate`"):
        app.drain()
    app.close()


def test_a_worker_refuses_tables_of_another_release(database_url: str) -> None:
    """OB-2"""
    with application(database_url) as app:
        schema = f"{app.database.schema}." if app.database.schema else ""
        version = f"{schema}{app.database.version_table}"
        with app.engine.begin() as connection:
            connection.execute(text(f"UPDATE {version} SET version_num = '9999'"))
        with pytest.raises(SchemaOutdated, match="are at revision 9999"):
            Runtime(app).drain()


def test_processes_that_migrate_at_once_do_not_disturb_each_other(database_url: str) -> None:
    """OB-2"""
    command = [sys.executable, "-c", MIGRATE, database_url]
    together = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    told = [process.communicate(timeout=60)[1] for process in together]
    assert [process.returncode for process in together] == [0] * 4, told
    app = unmigrated(database_url)
    assert differences(app) == []
    app.close()


def test_on_postgresql_our_tables_live_in_a_schema_of_their_own(postgres_database: str) -> None:
    """OB-11"""
    with application(postgres_database) as app:
        found = inspect(app.engine)
        assert found.get_table_names(schema="public") == []
        assert "outbox" in found.get_table_names(schema="todoke")


def test_on_postgresql_pages_of_living_rows_have_room_for_their_updates(
    postgres_database: str,
) -> None:
    """OP-5: a claimed row is written beside the old one, in the page that is at hand."""
    with application(postgres_database) as app, app.engine.connect() as connection:
        said = text("SELECT reloptions FROM pg_class WHERE oid = CAST(:name AS regclass)")
        for name in ("todoke.outbox", "todoke.inbox"):
            assert connection.execute(said, {"name": name}).scalar() == ["fillfactor=45"]


def test_migrating_what_is_migrated_already_is_one_look(
    migrated_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-5: web processes that migrate at their start do not wait for each other for nothing."""
    app = unmigrated(migrated_url)
    monkeypatch.setattr(command, "upgrade", lambda *_: pytest.fail("Alembic was asked"))
    app.migrate()
    app.close()


def test_elsewhere_our_tables_carry_a_prefix(sqlite_database: str) -> None:
    """OB-2"""
    with application(sqlite_database) as app:
        assert all(name.startswith("todoke_") for name in inspect(app.engine).get_table_names())


def test_the_applications_own_revision_is_not_taken_for_ours(database_url: str) -> None:
    """OB-2: a prefix is often the application's name, and so is the table of its revision."""
    engine = create_engine(database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE shop_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(text("INSERT INTO shop_version VALUES ('theirs')"))
    settings: dict[str, object] = {"database.schema": "", "database.prefix": "shop_"}
    with application(database_url, settings=settings) as app:
        publish(app, Placed(order_id=1))
        assert len(living(app)) == 1
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM shop_version")).scalar() == "theirs"
    engine.dispose()


def test_an_engine_of_the_callers_own_will_do(database_url: str) -> None:
    """OB-1"""
    engine = create_engine(database_url)
    app = Todoke(engine, clock=Clock(), settings=Settings({}, environment={}))
    app.migrate()
    publish(app, Placed(order_id=1))
    assert len(living(app)) == 1
    app.close()
    with engine.connect():
        pass
    engine.dispose()
