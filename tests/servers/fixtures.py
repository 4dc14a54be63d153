"""Fixtures that give tests their databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.postgres import PostgresServer, postgres_instance


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


@pytest.fixture
def sqlite_database(tmp_path: Path) -> str:
    """The address of a SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'todoke.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database, once of every kind."""
    return str(request.getfixturevalue(f"{request.param}_database"))
