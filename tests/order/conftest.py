"""What the tests of order share: a clock they move, an application on each database, a journal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import application
from tests.order.walks import Journal
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
def journal() -> Journal:
    return Journal()
