"""What waits costs nothing to those who do not wait: counted, on every database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import ceil
from statistics import mean
from uuid import UUID

import pytest
from sqlalchemy import Connection, insert, text

from tests.application import application, register
from tests.counts import Counts
from tests.proof.cost import cost, depth
from tests.work.key_desk import Desk, Process
from todoke import Event, Key, PermanentError, Todoke, TransientError
from todoke.testing import Clock
from todoke.work.item import Item
from todoke.work.strand import LANES, strand_of_key

STREAM = "todoke/default"
BATCH, PORTION = 100, 1000
DESCENTS = 10
"""To free one slot: four statements look for rows, and the row they find enters six indexes."""


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


def test_keys_that_are_full_cost_others_nothing(
    database_url: str, record_property: Callable[[str, object], None]
) -> None:
    """JB-9: with 10, 1,000 and 10,000 of them; indexes of more keys are a level deeper, no more."""
    spent = []
    with application(database_url, clock=Clock()) as app:
        desk, owner = Desk(app), register(app, 3600)
        for start, end in ((0, 10), (10, 1_000), (1_000, 10_000)):
            _fill_keys(desk, owner, range(start, end))
            spent.append(_cost_of_keys(desk))
    record_property("per claim, per freeing", str(spent))
    for few, many, very_many in zip(*spent, strict=True):
        assert very_many < 1.25 * many
        assert very_many < 2 * few


def test_rows_that_wait_for_their_key_cost_others_nothing(
    database_url: str, counts: Counts, record_property: Callable[[str, object], None]
) -> None:
    """JB-9: the same while one key has very many rows waiting; nor does it cost its own more.

    To free one slot and ready one row takes a fixed number of descents through indexes; a crowd
    adds no more than the levels that these are deeper, which the database is asked for.
    """
    with application(database_url, clock=Clock()) as app, app.engine.connect() as connection:
        desk = Desk(app)
        holder = Process(desk, connection)
        few, own_of_few, shallow = _cost_in_a_crowd(desk, holder, 10)
        many, own_of_many, deep = _cost_in_a_crowd(desk, holder, counts.followers)
    record_property("waiting", counts.followers)
    record_property("per claim, per freeing", f"{few}, {many}")
    record_property("per freeing of the key itself", f"{own_of_few}, {own_of_many}")
    record_property("levels of the indexes", f"{shallow}, {deep}")
    assert all(one < 1.5 * other for one, other in zip(many, few, strict=True))
    assert own_of_many < 1.5 * own_of_few
    assert own_of_many <= own_of_few + DESCENTS * (deep - shallow)


def _cost_in_a_crowd(desk: Desk, holder: Process, size: int) -> tuple[tuple[int, int], int, int]:
    """Beside one key that so many wait of; for that key itself; and how deep indexes are then."""
    for start in range(0, size, PORTION):
        desk.enqueue(["crowd"] * min(size, PORTION), first=start)
    taken: list[Item] = []
    while (catch := holder.claim(1000)).met:
        taken += catch.items
    costs = _cost_of_keys(desk)
    holder.end(taken)
    with desk.app.agents_engine.connect() as connection:
        own = cost(connection, lambda _: holder.hands.free(connection))
        return costs, own, depth(connection, desk.live)


def _fill_keys(desk: Desk, owner: UUID, numbers: range) -> None:
    """Each with its slot taken, and one row that is held for it."""
    full = [f"full {number}" for number in numbers]
    desk.enqueue(full)
    rows = [{"strand": strand_of_key("serve", key), "number": 0, "owner": owner} for key in full]
    with desk.app.engine.begin() as connection:
        connection.execute(desk.live.update().values(state="held"))
        connection.execute(insert(desk.keys.slots), rows)


def _cost_of_keys(desk: Desk) -> tuple[int, int]:
    """Ten keys with two rows each: claim the first of them, then let the second go on."""
    settle_down(desk.app)
    desk.enqueue([f"other {number}" for number in range(10)] * 2)
    with desk.app.agents_engine.connect() as connection:
        process, claimed = Process(desk, connection), list[Item]()
        claim = cost(connection, lambda _: claimed.extend(process.claim(100).items))
        assert len(claimed) == 10
        process.end(claimed)
        free = cost(connection, lambda _: process.free())
        claimed = process.claim(100).items
        assert len(claimed) == 10
        process.settle(claimed)
    return claim, free


def _arrive(app: Todoke, walks: Sequence[str]) -> None:
    """One portion after the other, while a worker is there, and the database keeps house."""
    for start in range(0, len(walks), PORTION):
        _publish(app, walks[start : start + PORTION])
        app.drain()
        if start % (len(walks) // 10 or 1) == 0:
            settle_down(app)


def _publish(app: Todoke, walks: Sequence[str]) -> None:
    with app.session() as session:
        app.publish_all(session, [Step(walk=walk) for walk in walks])


def _cost_of_a_claim(app: Todoke) -> int:
    """On average of ten batches of other keys, from many lanes, each settled before the next."""
    _publish(app, [f"other {number}" for number in range(20 * BATCH)])
    worker = register(app, 3600)
    settle_down(app)
    with app.agents_engine.connect() as connection:
        spent = [_cost_of_one(app, connection, worker, turn) for turn in range(10)]
    with app.engine.begin() as connection:
        connection.execute(app.worker_table.delete())
    app.drain()
    settle_down(app)
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


def settle_down(app: Todoke) -> None:
    """Statistics and dead rows as the database's own housekeeping leaves them."""
    if app.database.kind == "postgresql":
        with app.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE"))
