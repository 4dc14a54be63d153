"""What publishing tests share: an application on each database, and a table of the caller's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from tests.application import application
from tests.publish.desks import DATABASES, OF_SQLALCHEMY, Desk
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
    with application(str(request.getfixturevalue(f"{place[0]}_copy"))) as app:
        with app.engine.begin() as connection:
            connection.execute(text("CREATE TABLE orders (id INTEGER PRIMARY KEY, seen INTEGER)"))
        yield app


@pytest.fixture
def desk(app: Todoke, place: Place) -> Desk:
    """The kind of handle under test: each must keep the same promises."""
    kind = place[1]
    assert kind is not None
    return kind(app)
