"""A database of each kind, opened without an application."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import make_url

from todoke.clock import SystemClock
from todoke.databases import open_database
from todoke.testing.conformance.opened import Opened


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


@pytest.fixture
def there(any_url: str) -> Iterator[Opened]:
    with opened(any_url) as there:
        yield there
