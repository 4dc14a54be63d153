"""What PostgreSQL spent on a piece of work, by its own counters: the same on every machine.

Pages are those of the outbox, its history and their indexes, whether they were in memory or not. Of
the write-ahead log the records are counted, not the images of whole pages: how many of these there
are is decided by the last checkpoint. Statements are counted in the driver, those that publish,
claim or settle; how often somebody looks whether there is something to do depends on time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.pool import NullPool

from tests.application import application
from tests.waiting import until
from todoke import Todoke
from todoke.clock import SystemClock

_PAGES = text(
    "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint "
    "FROM pg_statio_user_tables WHERE relname IN ('outbox', 'outbox_history')"
)
_PLACE = text("SELECT pg_current_wal_insert_lsn()::text")
_RECORDS = text("SELECT sum(record_size)::bigint FROM pg_get_wal_stats(:begin, :end)")
_OURS = text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND application_name LIKE 'todoke%'"
)


_WRITES = ("INSERT INTO todoke.outbox", "RETURNING todoke.outbox")
"""Publishing, a claim, a settlement."""


class Spent(NamedTuple):
    """By so many messages together, or by one on average."""

    messages: float
    pages: float
    wal_bytes: float
    statements: float

    def beyond(self, other: Spent) -> Spent:
        """What more messages cost: without what it takes to start and to stop."""
        more = [mine - its for mine, its in zip(self, other, strict=True)]
        return Spent(*(one / more[0] for one in more))

    def __str__(self) -> str:
        return f"{self.pages:.2f} pages, {self.wal_bytes:.0f} bytes, {self.statements:.3f} writes"


NOTHING = Spent(0, 0, 0, 0)


def spent(url: str, work: Callable[[Todoke], int]) -> Spent:
    """What an application of its own spends on work that answers how many messages it was."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_walinspect"))
    pages, begin = _ask(engine, _PAGES), _ask(engine, _PLACE)
    with application(url, clock=SystemClock()) as app:
        statements = _count_writes(app)
        messages = work(app)
    # A session tells what it read when it ends, at the latest.
    until(lambda: _ask(engine, _OURS) == 0)
    read = _ask(engine, _PAGES) - pages
    written = _ask(engine, _RECORDS, begin=begin, end=_ask(engine, _PLACE))
    return Spent(messages, read, written, statements.total())


def _count_writes(app: Todoke) -> Counter[str]:
    counted: Counter[str] = Counter()

    class Counting(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            if any(word in str(query) for word in _WRITES):
                counted[str(query)] += 1
            return super().execute(query, params, **options)

        def copy(self, statement: Any, params: Any = None, **options: Any) -> Any:
            counted[str(statement)] += 1
            return super().copy(statement, params, **options)

    # In the driver: claims, settlements and copies do not pass through SQLAlchemy's cursors.
    def count(driver: Any, *_: object) -> None:
        driver.cursor_factory = Counting

    for engine in (app.engine, app.agents_engine):
        event.listen(engine, "checkout", count)
    return counted


def _ask(engine: Engine, question: Any, **values: object) -> Any:
    with engine.connect() as connection:
        return connection.execute(question, values).scalar_one()
