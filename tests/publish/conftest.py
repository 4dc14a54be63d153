"""What publishing tests share: an application on each database, and a table of the caller's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.application import application
from tests.publish.desks import DATABASES, OF_SQLALCHEMY, Desk
from tests.servers.mariadb import MariaDbServer
from tests.servers.migrated import copied_mariadb
from tests.servers.postgres import PostgresServer
from todoke import Todoke

Place = tuple[str, type[Desk] | None]
SOME_KINDS = [(name, kind) for name in DATABASES for kind in OF_SQLALCHEMY]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module whose promises hold for every kind of transaction says so: PLACES = EVERY_KIND."""
    if "desk" in metafunc.fixturenames:
        places = getattr(metafunc.module, "PLACES", SOME_KINDS)
        ids = [f"{name}-{kind.__name__}" for name, kind in places]
        metafunc.parametrize("place", places, ids=ids, indirect=True)
    elif "place" in metafunc.fixturenames:
        alone = [(name, None) for name in DATABASES]
        metafunc.parametrize("place", alone, ids=DATABASES, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest) -> Place:
    given: Place = request.param
    return given


@pytest.fixture
def app(request: pytest.FixtureRequest, place: Place) -> Iterator[Todoke]:
    """On SQLite a copy for each test; on a server, where that takes longer, one that is emptied."""
    name = place[0]
    database = "sqlite_copy" if name == "sqlite" else f"one_{name}"
    with application(str(request.getfixturevalue(database))) as app:
        with app.engine.begin() as connection:
            for table in reversed(app.metadata.sorted_tables):
                connection.execute(table.delete())
            connection.execute(text("DROP TABLE IF EXISTS orders"))
            connection.execute(text("CREATE TABLE orders (id INTEGER PRIMARY KEY, seen INTEGER)"))
        yield app


@pytest.fixture(scope="session")
def one_postgres(postgres_server: PostgresServer, migrated_postgres: str) -> Iterator[str]:
    with postgres_server.database(migrated_postgres) as url:
        yield url


@pytest.fixture(scope="session")
def one_mariadb(mariadb_server: MariaDbServer, migrated_mariadb: str) -> Iterator[str]:
    with copied_mariadb(mariadb_server, migrated_mariadb) as url:
        yield url


@pytest.fixture
def desk(app: Todoke, place: Place) -> Desk:
    """The kind of handle under test: each must keep the same promises."""
    kind = place[1]
    assert kind is not None
    return kind(app)
