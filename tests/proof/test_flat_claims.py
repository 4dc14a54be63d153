"""What waits costs nothing to those who do not wait: counted, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from statistics import mean
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from tests.application import application, register
from tests.counts import Counts
from tests.proof.cost import cost
from todoke import Event, Key, PermanentError, Todoke, TransientError
from todoke.testing import Clock
from todoke.work.strand import LANES

STREAM = "todoke/default"
BATCH, PORTION = 100, 1000


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
    _arrive(app, ["waits"])
    _arrive(app, ["waits"] * counts.followers)
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
    _arrive(app, dead)
    _arrive(app, dead * 100)
    assert _held(app) == len(dead) * 100
    crowded = _cost_of_a_claim(app)
    record_property("dead keys", len(dead))
    record_property("per claim without", empty)
    record_property("per claim with", crowded)
    assert crowded == pytest.approx(empty, rel=0.05)


def _arrive(app: Todoke, walks: Sequence[str]) -> None:
    """One portion after the other, while a worker is there, and the database keeps house."""
    for start in range(0, len(walks), PORTION):
        _publish(app, walks[start : start + PORTION])
        app.drain()
        if start % (len(walks) // 10 or 1) == 0:
            _settle_down(app)


def _publish(app: Todoke, walks: Sequence[str]) -> None:
    with app.session() as session:
        app.publish_all(session, [Step(walk=walk) for walk in walks])


def _cost_of_a_claim(app: Todoke) -> int:
    """On average of ten batches of other keys, from many lanes, each settled before the next."""
    _publish(app, [f"other {number}" for number in range(20 * BATCH)])
    worker = register(app, 3600)
    _settle_down(app)
    with app.agents_engine.connect() as connection:
        spent = [_cost_of_one(app, connection, worker, turn) for turn in range(10)]
    with app.engine.begin() as connection:
        connection.execute(app.worker_table.delete())
    app.drain()
    _settle_down(app)
    return round(mean(spent))


def _cost_of_one(app: Todoke, connection: Connection, worker: UUID, turn: int) -> int:
    spent = cost(connection, lambda connection: _claim(app, connection, worker, turn))
    live = app.outbox_table.live
    with app.engine.begin() as other:
        other.execute(live.delete().where(live.c.owner == worker))
    return spent


def _claim(app: Todoke, connection: Connection, worker: UUID, turn: int) -> None:
    """As a worker does: a little from each of the lanes whose turn it is."""
    at_once = app.database.lanes_at_once
    lanes = [(turn * at_once + number) % LANES for number in range(at_once)]
    each = ceil(BATCH / at_once)
    claimed = app.claims[0].take_ordered(connection, worker, STREAM, lanes, each, BATCH)
    assert len(claimed) == BATCH


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
