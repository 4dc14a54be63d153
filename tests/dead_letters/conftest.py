"""What the tests of dead letters share: an application with handlers that refuse."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.application import Placed, Shipped, application
from todoke import PermanentError, Todoke, TransientError
from todoke.testing import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def seen() -> list[Placed]:
    """What the handler took, once it takes anything."""
    return []


@pytest.fixture
def app(migrated_url: str, clock: Clock, seen: list[Placed]) -> Iterator[Todoke]:
    with application(migrated_url, clock=clock) as app:

        @app.on(Placed, name="mail", retry="default")
        def mail(event: Placed) -> None:
            if event.note == "refuse":
                raise PermanentError("no such customer", code="NO_CUSTOMER")
            if event.note == "fail":
                raise TransientError("busy", code="BUSY")
            seen.append(event)

        @app.on(Shipped, name="track")
        def track(event: Shipped) -> None:
            raise PermanentError("lost", code="LOST")

        yield app
