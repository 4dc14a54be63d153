"""`todoke.django` in a real project: examples/django_shop, by its manage.py."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import URL, create_engine, inspect, make_url, text

from tests.examples.example import Example
from tests.house.sources import ROOT
from tests.servers.mysqlclient import import_mysqlclient
from tests.waiting import until
from todoke import Settings, Todoke
from todoke.databases import schema

BACKENDS = {
    "sqlite": "django.db.backends.sqlite3",
    "postgresql": "django.db.backends.postgresql",
    "mariadb": "django.db.backends.mysql",
}
OPTIONS = {
    "sqlite": {"transaction_mode": "IMMEDIATE"},
    "postgresql": {},
    "mariadb": {"charset": "utf8mb4"},
}
SUITE = ROOT / "tests" / "web" / "django_suite.py"
ELSEWHERE = "app = Todoke(connections['events'])"


def databases(**urls: str) -> str:
    """DATABASES for these aliases."""
    return f"DATABASES = { ({alias: _database(make_url(url)) for alias, url in urls.items()})!r}\n"


def _database(url: URL) -> dict[str, object]:
    given = {"USER": url.username, "PASSWORD": url.password, "HOST": url.host, "PORT": url.port}
    kind = url.get_backend_name()
    return {
        "ENGINE": BACKENDS[kind],
        "NAME": url.database,
        **{name: value for name, value in given.items() if value is not None},
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": OPTIONS[kind],
    }


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture
def shop(tmp_path: Path, url: str) -> Example:
    return project(tmp_path, default=url)


def project(folder: Path, **urls: str) -> Example:
    shop = Example("django_shop", folder)
    settings = f"from teashop.settings import *\n{databases(**urls)}"
    (shop.folder / "other_settings.py").write_text(settings)
    shop.set("DJANGO_SETTINGS_MODULE", "other_settings")
    if any(url.startswith("mariadb") for url in urls.values()):
        import_mysqlclient()
        shop.find_modules_in(Path(str(importlib.import_module("MySQLdb").__file__)).parents[1])
    return shop


def tables(url: str) -> set[str]:
    engine = create_engine(url)
    there = inspect(engine)
    schemas = ["todoke", None] if engine.dialect.name == "postgresql" else [None]
    found = {name for one in schemas for name in there.get_table_names(one)}
    engine.dispose()
    return {name for name in found if "outbox" in name}


@contextmanager
def looking(url: str) -> Iterator[Todoke]:
    app = Todoke(url, settings=Settings(environment={}))
    yield app
    app.close()


def test_migrate_makes_todokes_tables_and_nothing_is_left_to_make(shop: Example, url: str) -> None:
    """OB-1: through todoke's own revisions; models and migrations agree."""
    shop.run("manage.py", "migrate")
    with looking(url) as app, app.engine.begin() as connection:
        assert schema.check(connection, app.database) == schema.REVISION
    shop.run("manage.py", "makemigrations", "--check", "--dry-run")
    assert "up to date" in shop.run("manage.py", "todoke", "migrate")


def test_every_revision_has_a_django_migration() -> None:
    """OB-1: whoever adds a revision adds a migration that upgrades to it."""
    folder = ROOT / "src" / "todoke" / "django" / "migrations"
    newest = max(path.stem for path in folder.glob("0*.py"))
    migration = importlib.import_module(f"todoke.django.migrations.{newest}").Migration
    revisions = [getattr(one, "revision", None) for one in migration.operations]
    assert schema.REVISION in revisions, f"add a migration with Upgrade({schema.REVISION!r})"


def test_migrating_again_changes_nothing(shop: Example, url: str) -> None:
    """OB-1: also where `todoke migrate` was faster, or went further than this migration."""
    with looking(url) as app:
        app.migrate()
        app.migrate(to="0003")
        with app.engine.begin() as connection:
            assert schema.check(connection, app.database) == schema.REVISION
    shop.run("manage.py", "migrate")


def test_tables_are_made_in_the_one_database_that_todoke_uses(tmp_path: Path) -> None:
    """OB-1: of several aliases, that of the connection given to Todoke."""
    urls = {name: f"sqlite:///{tmp_path / name}.db" for name in ("default", "events")}
    shop = project(tmp_path, **urls)
    source = shop.folder / "teashop" / "events.py"
    changed = source.read_text().replace("app = Todoke(connection)", ELSEWHERE)
    source.write_text(changed.replace("import connection", "import connections"))
    (shop.folder / "teashop" / "views.py").write_text("place = show = lambda request: None\n")
    shop.run("manage.py", "migrate")
    assert not tables(urls["default"]) | tables(urls["events"])
    shop.run("manage.py", "migrate", "--database", "events")
    assert tables(urls["events"])
    assert not tables(urls["default"])


def test_migrating_to_zero_is_refused_with_the_way_out(shop: Example, url: str) -> None:
    """OB-1: the tables hold work that must not be lost."""
    shop.run("manage.py", "migrate")
    said = shop.run("manage.py", "migrate", "todoke", "zero", ends_with=1)
    assert "work that must not be lost" in said
    assert tables(url)


def test_a_project_tests_its_handlers_and_its_admin(shop: Example, url: str) -> None:
    """TS-1, OB-1, ER-3: in Django's test database, flushed between tests (django_suite.py).

    No handler leaves a connection behind.
    """
    shutil.copy(SUITE, shop.folder / "teashop" / "test_suite.py")
    said = shop.run("-W", "always::ResourceWarning", "manage.py", "test")
    assert "OK" in said
    # On SQLite it is in memory, which Django itself leaves open; Python 3.13 tells of that.
    assert url.startswith("sqlite") or "ResourceWarning" not in said


def test_a_flush_that_is_not_confirmed_keeps_everything(shop: Example, url: str) -> None:
    """OB-1: it asks, as Django's does."""
    shop.run("manage.py", "migrate")
    publish(shop)
    assert "cancelled" in shop.run("manage.py", "flush", input="no\n")
    assert statuses(url) == [("PENDING", 0)]
    shop.run("manage.py", "flush", input="yes\n")
    assert statuses(url) == []


def publish(shop: Example, order: int = 1) -> None:
    lines = [
        "from django.db import connection, transaction",
        "from teashop.events import OrderPlaced, app",
        f"with transaction.atomic(): app.publish(connection, OrderPlaced(order_id={order}))",
    ]
    shop.run("manage.py", "shell", "-c", "\n".join(lines))


def statuses(url: str) -> list[tuple[str, int]]:
    with looking(url) as app, app.session() as session:
        return [(one.status, one.attempts) for one in app.events.list(session)]


def test_a_worker_sets_django_up_and_survives_lost_connections(
    tmp_path: Path, postgres_database: str
) -> None:
    """OB-3, OB-7: its threads' connections do not go stale; at the end none is left."""
    shop = project(tmp_path, default=postgres_database)
    shop.run("manage.py", "migrate")
    with shop.running("manage.py", "todoke", "worker", "--queues", "default=1"):
        publish(shop)
        until(lambda: statuses(postgres_database) == [("PROCESSED", 1)], 30)
        end_sessions(postgres_database)
        publish(shop, order=2)
        until(lambda: statuses(postgres_database) == [("PROCESSED", 1)] * 2, 30)
    until(lambda: sessions(postgres_database) == 0)


OTHERS = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


def sessions(url: str) -> int:
    engine = create_engine(url)
    with engine.connect() as connection:
        count = int(connection.execute(text(f"SELECT count(*) {OTHERS}")).scalar_one())
    engine.dispose()
    return count


def end_sessions(url: str) -> None:
    engine = create_engine(url)
    with engine.connect() as connection:
        connection.execute(text(f"SELECT pg_terminate_backend(pid) {OTHERS}"))
    engine.dispose()


def test_manage_py_todoke_is_found_from_any_folder(tmp_path: Path) -> None:
    """api 3.10: options of Django's are heeded, worker processes find the project."""
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    shop = project(tmp_path, default=url)
    manage = str(shop.folder / "manage.py")
    shop.folder = tmp_path
    shop.run(manage, "migrate")
    publishing = project(tmp_path / "again", default=url)
    publish(publishing)
    with shop.running(manage, "todoke", "worker", "--settings", "other_settings"):
        until(lambda: statuses(url) == [("PROCESSED", 1)], 30)


def test_a_refusal_is_one_line_and_exit_code_1(tmp_path: Path) -> None:
    """api 3.11"""
    shop = project(tmp_path, default=f"sqlite:///{tmp_path / 'shop.db'}")
    said = shop.run("manage.py", "todoke", "status", ends_with=1)
    assert said.startswith("Error: There is no database ")
    assert said.count("\n") == 1


def test_a_project_that_names_no_application_is_told_how(tmp_path: Path) -> None:
    """api 3.11: before anything runs."""
    shop = project(tmp_path, default=f"sqlite:///{tmp_path / 'shop.db'}")
    with (shop.folder / "other_settings.py").open("a") as settings:
        settings.write("TODOKE = {}\n")
    said = shop.run("manage.py", "check", ends_with=1)
    assert 'Write TODOKE = {"app": "shop.events:app"}.' in said


def test_an_application_in_another_database_is_told_of(tmp_path: Path) -> None:
    """api 3.11: Django's migrate would not make its tables."""
    shop = project(tmp_path, default=f"sqlite:///{tmp_path / 'shop.db'}")
    source = shop.folder / "teashop" / "events.py"
    elsewhere = f'app = Todoke("sqlite:///{tmp_path / "elsewhere.db"}")'
    source.write_text(source.read_text().replace("app = Todoke(connection)", elsewhere))
    assert "todoke.W001" in shop.run("manage.py", "check")
    shop.run("manage.py", "migrate")
    assert not tables(f"sqlite:///{tmp_path / 'shop.db'}")


def test_outside_of_djangos_tests_there_is_no_harness(tmp_path: Path) -> None:
    """TS-1: its events would lie in the project's own database"""
    shop = Example("django_shop", tmp_path)
    program = (
        "from teashop.events import app; from todoke.testing import Harness; "
        "Harness(app).__enter__()"
    )
    told = shop.run("manage.py", "shell", "--command", program, ends_with=1)
    assert "is tested within Django's own tests: `manage.py test`, or pytest-django." in told
