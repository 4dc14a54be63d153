"""A desk full of jobs, on every kind of database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import application
from tests.jobs.desk import Desk
from todoke import Todoke
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def app(migrated_url: str, clock: Clock) -> Iterator[Todoke]:
    with application(migrated_url, clock=clock) as app:
        yield app


@pytest.fixture
def desk(app: Todoke) -> Desk:
    return Desk(app)
