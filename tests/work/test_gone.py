"""What an application leaves behind in its process: nothing."""

from __future__ import annotations

import gc
from weakref import ReferenceType, ref

import pytest

from tests.application import Placed, application, publish
from todoke import Todoke


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
def test_an_application_that_is_gone_is_forgotten(migrated_url: str, is_async: bool) -> None:
    """OP-5: test suites build one for each test."""
    gone = worked(migrated_url, is_async=is_async)
    gc.collect()
    assert gone() is None


def worked(url: str, *, is_async: bool) -> ReferenceType[Todoke]:
    with application(url) as app:
        failure = ValueError("held by the handler that raises it, and holds the way it came")

        def take(event: Placed) -> None:
            if event.order_id == 2:
                raise failure
            assert app.name

        async def take_async(event: Placed) -> None:
            take(event)

        app.on(Placed)(take_async if is_async else take)
        publish(app, Placed(order_id=1), Placed(order_id=2))
        app.drain()
        return ref(app)
