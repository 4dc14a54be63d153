"""What a handler sees of the middleware around it."""

from __future__ import annotations

import asyncio

from tests.application import Placed, application, publish, statuses
from todoke import Attempt, Outcome
from todoke.types import CallNext


def test_a_def_handler_inside_middleware_is_on_no_event_loop(sqlite_copy: str) -> None:
    """OB-3: it may block and call `asyncio.run`; Django's ORM works only so."""
    seen: list[str] = []

    async def look() -> None:
        seen.append("inside")

    with application(sqlite_copy) as app:

        @app.middleware
        async def pass_on(attempt: Attempt, call_next: CallNext) -> Outcome:
            outcome = await call_next(attempt)
            asyncio.get_running_loop()
            seen.append("around")
            return outcome

        @app.on(Placed)
        def handle(event: Placed) -> None:
            asyncio.run(look())

        publish(app, Placed(order_id=1))
        app.drain()
        assert statuses(app) == [("PROCESSED", 1)]
    assert seen == ["inside", "around"]
