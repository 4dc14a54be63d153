"""Fixtures that give tests their databases and servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.servers.mariadb import MariaDbServer, mariadb_instance
from tests.servers.pgbouncer import PgBouncer, pgbouncer_instance
from tests.servers.postgres import PostgresServer, postgres_instance
from tests.servers.sshd import Sshd, sshd_instance


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """The PostgreSQL of this test process; never stop it (see `postgres_instance`)."""
    with postgres_instance() as server:
        yield server


@pytest.fixture
def postgres_database(postgres_server: PostgresServer) -> Iterator[str]:
    """The address of a fresh PostgreSQL database."""
    with postgres_server.database() as url:
        yield url


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """The MariaDB of this test process; never stop it (see `mariadb_instance`)."""
    with mariadb_instance() as server:
        yield server


@pytest.fixture
def mariadb_database(mariadb_server: MariaDbServer) -> Iterator[str]:
    """The address of a fresh MariaDB database."""
    with mariadb_server.database() as url:
        yield url


@pytest.fixture(scope="session")
def pgbouncer_server(postgres_server: PostgresServer) -> Iterator[PgBouncer]:
    """The PgBouncer of this test process; never stop it (see `pgbouncer_instance`)."""
    with pgbouncer_instance(postgres_server) as server:
        yield server


@pytest.fixture
def pgbouncer_database(pgbouncer_server: PgBouncer, postgres_database: str) -> str:
    """The address of a fresh PostgreSQL database, through PgBouncer."""
    return pgbouncer_server.url(str(make_url(postgres_database).database))


@pytest.fixture(scope="session")
def sshd_server() -> Iterator[Sshd]:
    """The OpenSSH server of this test process; never stop it (see `sshd_instance`)."""
    with sshd_instance() as server:
        yield server


@pytest.fixture
def sqlite_database(tmp_path: Path) -> str:
    """The address of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'todoke.db'}"


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database, once of every kind."""
    return str(request.getfixturevalue(f"{request.param}_database"))
