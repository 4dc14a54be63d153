"""Lines that break after the server has committed, before its answer arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, event
from sqlalchemy.exc import OperationalError

from tests.order.hands import Hand
from todoke import Todoke, crash


@contextmanager
def reply_lost(hand: Hand, app: Todoke, point: str) -> Iterator[None]:
    """The first commit after this crash point is done, and the line breaks before its answer."""
    passed: list[str] = []
    before = crash.arm(lambda name: passed.append(name) if name == point else None)
    try:
        with line_breaks(hand, app, lambda: bool(passed)):
            yield
    finally:
        crash.arm(before)


@contextmanager
def line_breaks(hand: Hand, app: Todoke, condition: Callable[[], bool]) -> Iterator[None]:
    """The same at the first commit after which this holds."""
    event.listen(hand.connection, "commit", _break_after(condition))
    yield
    assert hand.connection.invalidated
    hand.connection.close()
    hand.connection = app.engine.connect()


def _break_after(condition: Callable[[], bool]) -> Callable[[Connection], None]:
    def commit_and_break(connection: Connection) -> None:
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.commit()
        if condition():
            connection.invalidate()
            broken = Exception("the line broke")
            raise OperationalError("COMMIT", None, broken, connection_invalidated=True)

    return commit_and_break
