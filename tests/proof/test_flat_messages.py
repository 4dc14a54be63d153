"""A message costs the same whatever else lies in the database: counted, on PostgreSQL.

Baseline and crowd are measured alike, each in a fresh database: publish, let a real worker drain.
Cheaper is no failure: PostgreSQL finds the end of a large index without descending it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from tests.application import application, publish
from tests.counts import Counts
from tests.proof.cost import cost
from tests.proof.crowds import Crowd, Make, backlog, dead_letters, history, publish_many
from tests.proof.spent import NOTHING, Spent, spent
from tests.servers.postgres import PostgresServer
from tests.waiting import until
from todoke import Event, Key, Todoke
from todoke.clock import SystemClock
from todoke.runtime import Runtime

MORE = 1.05
LEVEL = 1.25
"""An index of many rows may be a level deeper: a page more to get to a row, and a few to split."""


class Step(Event, aggregate="walk"):
    walk: Key[str]
    note: str = "as long as the note of an order is, mostly: please leave it at the door " * 2


class Leap(Step, aggregate="walk", ordered=False):
    pass


class Cost(NamedTuple):
    publishing: Spent
    draining: Spent


Measure = Callable[..., Cost]


@pytest.fixture
def measure(postgres_server: PostgresServer, migrated_postgres: str, counts: Counts) -> Measure:
    def measure(make: Make, crowd: Crowd | None = None, *, old_snapshot: bool = False) -> Cost:
        with postgres_server.database(migrated_postgres) as url:
            if crowd is not None:
                with application(url, clock=SystemClock()) as app:
                    crowd(app, make, counts.crowd)
            return _cost(url, make, counts.drained, old_snapshot=old_snapshot)

    return measure


@pytest.mark.parametrize("crowd", [history, backlog, dead_letters], ids=lambda one: one.__name__)
@pytest.mark.parametrize("make", [Step, Leap], ids=["ordered", "unordered"])
def test_a_crowd_costs_a_message_nothing(
    measure: Measure,
    counts: Counts,
    make: type[Step],
    crowd: Crowd,
    record_property: Callable[[str, object], None],
) -> None:
    """OP-5 OB-12: pages and log per message, at most 5 % more than in empty tables."""
    _compare(measure(_by_key(make)), measure(_by_key(make), crowd), record_property)
    record_property("crowd", counts.crowd)


# Not with order: there each claim walks past all that was settled in its lanes since the snapshot,
# so that a message costs the more the longer the snapshot is held. See docs/speed.md, Flat.
def test_an_old_snapshot_costs_a_message_without_order_nothing(
    measure: Measure, record_property: Callable[[str, object], None]
) -> None:
    """OP-5: nothing that is settled can be removed while somebody may still see it."""
    crowded = measure(_by_key(Leap), old_snapshot=True)
    _compare(measure(_by_key(Leap)), crowded, record_property)


def test_what_is_not_due_costs_the_stager_nothing(
    postgres_copy: str, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """OP-5: it looks every second, and what waits for tomorrow is not looked at"""
    with application(postgres_copy, clock=SystemClock()) as app:
        stager, _ = Runtime(app).keepers()
        with app.agents_engine.connect() as connection:
            empty = cost(connection, stager.stage)
            for _ in range(counts.crowd // 1000):
                publish(app, *(Leap(walk="tomorrow") for _ in range(1000)), delay="1d")
            _keep_house(postgres_copy)
            crowded = cost(connection, stager.stage)
    record_property("waiting", counts.crowd)
    record_property("pages without", empty)
    record_property("pages with", crowded)
    assert crowded <= empty + 5  # pages, to get to the first row of a deeper index


def _compare(empty: Cost, crowded: Cost, record_property: Callable[[str, object], None]) -> None:
    for name in Cost._fields:
        record_property(f"{name} without", str(getattr(empty, name)))
        record_property(f"{name} with", str(getattr(crowded, name)))
    assert crowded.publishing.pages <= empty.publishing.pages * MORE + LEVEL
    assert crowded.draining.pages <= empty.draining.pages * MORE
    for before, after in zip(empty, crowded, strict=True):
        assert after.wal_bytes <= before.wal_bytes * MORE
        assert 0 < after.statements <= before.statements * MORE


def _by_key(kind: type[Step]) -> Make:
    return lambda walk: kind(walk=walk)


def _cost(url: str, make: Make, count: int, *, old_snapshot: bool) -> Cost:
    """Of what is beyond a first few: a start of a worker looks at more than messages."""
    with _old_snapshot(url) if old_snapshot else nullcontext():
        _, some = _publish_and_drain(url, make, 0, count)
        publishing, more = _publish_and_drain(url, make, count, 2 * count)
    return Cost(publishing.beyond(NOTHING), more.beyond(some))


def _publish_and_drain(url: str, make: Make, first: int, count: int) -> Cost:
    events = [make(f"goes {number}") for number in range(first, first + count)]
    _keep_house(url)
    publishing = spent(url, lambda app: publish_many(app, events))
    _keep_house(url)
    return Cost(publishing, spent(url, lambda app: _drain(app, make, count)))


def _drain(app: Todoke, make: Make, count: int) -> int:
    """At least so many; answers how many it was."""

    @app.on(type(make("")))
    async def go(event: Event) -> None: ...

    runtime = Runtime(app)
    process = runtime.start()
    try:
        until(lambda: runtime.counts["processed"] >= count, 60)
    finally:
        process.stop(30)
    return runtime.counts["processed"]


def _keep_house(url: str) -> None:
    """At chosen moments: by itself the database would do it in the midst of some counts."""
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in ("outbox", "outbox_history"):
            connection.execute(text(f"ALTER TABLE todoke.{name} SET (autovacuum_enabled = off)"))
        connection.execute(text("VACUUM ANALYZE"))


@contextmanager
def _old_snapshot(url: str) -> Iterator[None]:
    options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with create_engine(url, poolclass=NullPool).connect() as connection:
        connection.execution_options(**options).execute(text("SELECT 1 FROM todoke.workers"))
        yield
