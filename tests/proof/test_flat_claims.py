"""What waits costs nothing to those who do not wait: counted, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from uuid import UUID

import pytest
from sqlalchemy import text

from tests.application import application, register
from tests.counts import Counts
from tests.proof.cost import cost
from todoke import Event, Key, PermanentError, Todoke, TransientError
from todoke.testing import Clock

STREAM = "todoke/default"


class Step(Event, aggregate="walk"):
    walk: Key[str]


@pytest.fixture
def app(database_url: str) -> Iterator[Todoke]:
    settings: dict[str, object] = {"retry.default": {"delays": ["1h"]}}
    with application(database_url, clock=Clock(), settings=settings) as app:

        @app.on(Step)
        def walk(event: Step) -> None:
            if event.walk.startswith("waits"):
                raise TransientError("not now")
            if event.walk.startswith("dies"):
                raise PermanentError("never")

        yield app


def test_followers_of_a_waiting_head_cost_others_nothing(
    app: Todoke, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """OB-9: pages, rows or steps per claim of other keys, +- 5 % of what they are without."""
    empty = _cost_of_a_claim(app)
    _publish(app, ["waits"])
    app.drain()
    _publish(app, ["waits"] * counts.followers)
    app.drain()
    assert _held(app) == counts.followers
    crowded = _cost_of_a_claim(app)
    record_property("followers", counts.followers)
    record_property("per claim without", empty)
    record_property("per claim with", crowded)
    assert crowded == pytest.approx(empty, rel=0.05)


def test_parked_keys_cost_others_nothing(
    app: Todoke, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """OB-9: dead keys with 100 parked each, +- 5 % of what a claim costs without them."""
    empty = _cost_of_a_claim(app)
    dead = [f"dies {number}" for number in range(counts.followers // 100)]
    _publish(app, dead)
    app.drain()
    _publish(app, dead * 100)
    app.drain()
    assert _held(app) == len(dead) * 100
    crowded = _cost_of_a_claim(app)
    record_property("dead keys", len(dead))
    record_property("per claim without", empty)
    record_property("per claim with", crowded)
    assert crowded == pytest.approx(empty, rel=0.05)


def _publish(app: Todoke, walks: Sequence[str]) -> None:
    for start in range(0, len(walks), 1000):
        with app.session() as session:
            events = [Step(walk=walk) for walk in walks[start : start + 1000]]
            app.publish_all(session, events)


def _cost_of_a_claim(app: Todoke) -> int:
    """Of 100 rows of other keys, from all lanes; undone, and what it claimed is removed."""
    _publish(app, [f"other {number}" for number in range(2000)])
    worker = register(app, 3600)
    _settle_down(app)
    with app.agents_engine.connect() as connection:
        _claim(app, connection, worker)  # plans and caches are made once
        spent = cost(connection, lambda connection: _claim(app, connection, worker))
    live = app.outbox_table.live
    with app.engine.begin() as connection:
        connection.execute(live.update().where(live.c.owner == worker).values(owner=None))
        connection.execute(app.worker_table.delete())
    app.drain()
    _settle_down(app)
    return spent


def _claim(app: Todoke, connection: object, worker: UUID) -> None:
    lanes = range(app.database.lanes_at_once)
    claimed = app.claims[0].take_ordered(connection, worker, STREAM, lanes, 7, 100)  # type: ignore[arg-type]
    assert len(claimed) == 100


def _held(app: Todoke) -> int:
    live = app.outbox_table.live
    with app.engine.connect() as connection:
        held = live.select().where(live.c.state == "held")
        return len(connection.execute(held.with_only_columns(live.c.id)).all())


def _settle_down(app: Todoke) -> None:
    """Statistics and dead rows as the database's own housekeeping leaves them."""
    if app.database.kind == "postgresql":
        with app.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
