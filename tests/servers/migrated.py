"""Fresh databases that have todoke's tables already: copied, since migrating takes far longer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url

from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer
from todoke import Todoke


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file to copy."""
    file = tmp_path_factory.mktemp("migrated") / "todoke.db"
    _migrate(f"sqlite:///{file}")
    return file


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: PostgresServer) -> Iterator[str]:
    """The name of the database to copy."""
    with postgres_server.database() as url:
        _migrate(url)
        yield _name(url)


@pytest.fixture(scope="session")
def migrated_mariadb(mariadb_server: MariaDbServer) -> Iterator[str]:
    """The name of the database to copy."""
    with mariadb_server.database() as url:
        _migrate(url)
        yield _name(url)


@pytest.fixture
def sqlite_copy(migrated_sqlite: Path, tmp_path: Path) -> str:
    copy = tmp_path / "todoke.db"
    shutil.copy(migrated_sqlite, copy)
    return f"sqlite:///{copy}"


@pytest.fixture
def postgres_copy(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    with postgres_server.database(migrated_postgres) as url:
        yield url


@pytest.fixture
def mariadb_copy(mariadb_server: MariaDbServer, migrated_mariadb: str) -> Iterator[str]:
    with copied_mariadb(mariadb_server, migrated_mariadb) as url:
        yield url


@contextmanager
def copied_mariadb(server: MariaDbServer, template: str) -> Iterator[str]:
    with server.database() as url:
        with server.connection() as connection:
            connection.exec_driver_sql(f"USE {_name(url)}")
            _copy_tables(connection, template)
        yield url


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def migrated_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database with todoke's tables, once of every kind."""
    return str(request.getfixturevalue(f"{request.param}_copy"))


def _migrate(url: str) -> None:
    with closing(Todoke(url, name="template")) as app:
        app.migrate()


def _name(url: str) -> str:
    return str(make_url(url).database)


def _copy_tables(connection: Connection, template: str) -> None:
    kinds = connection.exec_driver_sql(f"SHOW FULL TABLES FROM `{template}`").all()
    for name in (name for name, kind in kinds if kind == "BASE TABLE"):
        connection.exec_driver_sql(f"CREATE TABLE `{name}` LIKE `{template}`.`{name}`")
        connection.exec_driver_sql(f"INSERT INTO `{name}` SELECT * FROM `{template}`.`{name}`")
    for name in (name for name, kind in kinds if kind == "VIEW"):
        shown = connection.exec_driver_sql(f"SHOW CREATE VIEW `{template}`.`{name}`").one()
        connection.exec_driver_sql(str(shown[1]).replace(f"`{template}`.", ""))
