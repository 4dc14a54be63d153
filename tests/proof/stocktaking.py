"""Stock is counted by others than those who change it: at every commit, and at any moment.

Of each product `total = free + reserved + shipped`, none of them is below zero, and what is
reserved and shipped is what the living reservations say.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, NullPool, create_engine, event

from todoke import Todoke

# One statement, so one snapshot, on every database.
_COUNT = """
SELECT sku, SUM(total), SUM(free), SUM(reserved), SUM(shipped), SUM(kept), SUM(sent)
FROM (
    SELECT sku, total, free, reserved, shipped, 0 AS kept, 0 AS sent FROM stock
    UNION ALL
    SELECT sku, 0, 0, 0, 0,
        CASE WHEN type = 'SHIPPED' THEN 0 ELSE quantity END,
        CASE WHEN type = 'SHIPPED' THEN quantity ELSE 0 END
    FROM stock_reservations WHERE deleted_at IS NULL
) AS told
GROUP BY sku
"""
_CHANGES = ("INSERT INTO stock", "UPDATE stock", "DELETE FROM stock")
_CHANGED = "stock_changed"


class Counted(NamedTuple):
    """One product: what its row says, and what its living reservations say."""

    sku: str
    total: int
    free: int
    reserved: int
    shipped: int
    kept: int
    sent: int

    @property
    def adds_up(self) -> bool:
        return (
            self.total == self.free + self.reserved + self.shipped
            and min(self.free, self.reserved, self.shipped) >= 0
            and (self.reserved, self.shipped) == (self.kept, self.sent)
        )


class Stocktaking:
    """How often was counted, and what did not add up."""

    def __init__(self) -> None:
        self.counts = 0
        self.wrong: list[Counted] = []
        self._lock = threading.Lock()

    def take(self, cursor: Any) -> Sequence[Counted]:
        cursor.execute(_COUNT)
        found = [Counted(sku, *map(int, numbers)) for sku, *numbers in cursor.fetchall()]
        with self._lock:
            self.counts += 1
            self.wrong.extend(one for one in found if not one.adds_up)
        return found


def at_every_commit(*apps: Todoke) -> Stocktaking:
    """Counts, from now on, in each transaction that has changed stock or reservations, at its end.

    What such a transaction sees then is what others have committed, and its own changes. As long
    as all before it added up, what it adds must add up by itself; so whatever the order in which
    they commit, every state between two commits does.
    """
    taking = Stocktaking()
    engines = {id(one): one for app in apps for one in (app.engine, app.agents_engine)}.values()
    for engine in engines:
        _listen(engine, taking)
    return taking


def _listen(engine: Engine, taking: Stocktaking) -> None:
    @event.listens_for(engine, "after_cursor_execute")
    def note(connection: Connection, _cursor: object, statement: str, *_told: object) -> None:
        if statement.startswith(_CHANGES):
            connection.info[_CHANGED] = True

    @event.listens_for(engine, "commit")
    def count(connection: Connection) -> None:
        if connection.info.pop(_CHANGED, False):
            cursor = connection.connection.cursor()
            taking.take(cursor)
            cursor.close()

    @event.listens_for(engine, "rollback")
    def forget(connection: Connection) -> None:
        connection.info.pop(_CHANGED, None)


@contextmanager
def from_outside(url: str) -> Iterator[Stocktaking]:
    """Counts on a connection of its own, again and again, from before the block until its end."""
    taking, began, is_over = Stocktaking(), threading.Event(), threading.Event()
    # Each statement by itself: the next one sees what was committed in the meantime.
    engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)

    def watch() -> None:
        with engine.connect() as connection:
            cursor = connection.connection.cursor()
            while not is_over.wait(0.005):
                taking.take(cursor)
                began.set()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        assert began.wait(30), "the stock could not be counted"
        yield taking
    finally:
        is_over.set()
        watcher.join(30)
