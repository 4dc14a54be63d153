"""A database of each kind, opened without an application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import URL, Engine, make_url

from todoke.clock import SystemClock
from todoke.database import Database
from todoke.databases import open_database


@dataclass(frozen=True)
class Opened:
    """A database, its address, and an engine to reach it."""

    database: Database
    url: URL
    engine: Engine


@contextmanager
def opened(url: str, schema: str = "todoke", patience: float = 1) -> Iterator[Opened]:
    address = make_url(url)
    database = open_database(address, SystemClock(), schema=schema, prefix="todoke_")
    engine = database.engine(address, pool_size=5, patience=patience)
    try:
        yield Opened(database, address, engine)
    finally:
        engine.dispose()


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def any_url(request: pytest.FixtureRequest) -> str:
    """The address of a fresh database, once of every kind."""
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture(params=["postgres", "mariadb"])
def server_url(request: pytest.FixtureRequest) -> str:
    """The same, of each kind that has a server."""
    return str(request.getfixturevalue(f"{request.param}_database"))


@pytest.fixture
def there(any_url: str) -> Iterator[Opened]:
    with opened(any_url) as there:
        yield there


@pytest.fixture
def served(server_url: str) -> Iterator[Opened]:
    with opened(server_url) as there:
        yield there
