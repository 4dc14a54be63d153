"""What these tests share: a clock they move, and an application on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import application
from tests.cli.conftest import plain_environment, project
from todoke import Todoke
from todoke.testing import Clock

__all__ = ["app", "clock", "on_sqlite", "plain_environment", "project"]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    with application(migrated_url, clock=clock) as app:
        yield app


@pytest.fixture
def on_sqlite(sqlite_copy: str, clock: Clock) -> Iterator[Todoke]:
    with application(sqlite_copy, clock=clock) as app:
        yield app
