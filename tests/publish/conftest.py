"""What publishing tests share: an application on each database, and a table of the caller's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.application import application
from tests.publish.handles import KINDS, Desk
from todoke import Todoke


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with application(migrated_url) as app:
        with app.engine.begin() as connection:
            connection.execute(text("CREATE TABLE orders (id INTEGER PRIMARY KEY, seen INTEGER)"))
        yield app


@pytest.fixture(params=KINDS, ids=lambda kind: str(kind.__name__))
def desk(request: pytest.FixtureRequest, app: Todoke) -> Desk:
    """The kind of handle under test: each must keep the same promises."""
    made = request.param(app)
    assert isinstance(made, Desk)
    return made
