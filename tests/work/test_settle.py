"""Settling: each message on its own, and only by the attempt that owns it."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from sqlalchemy import Connection

from tests.application import Noted, history, letters, living, publish, register
from todoke import Todoke
from todoke.testing import Clock
from todoke.work.item import Failure, Item
from todoke.work.settlement import Dead, HandedBack, Later, Processed, Settled, Settlement

STREAM = "todoke/default"
BROKEN = Failure("transient", "SMTP_451", "try later", "Traceback …")


class Bench:
    """Claimed items, and a settling to try on them."""

    def __init__(self, app: Todoke, count: int = 1) -> None:
        self.app = app
        self.owner = register(app)
        self._settling = app.settlings[0]
        publish(app, *(Noted(order_id=n) for n in range(count)))
        with app.engine.connect() as connection:
            self.items = app.claims[0].take(connection, self.owner, STREAM, count)

    def settle(self, *settlements: Settlement, owner: UUID | None = None) -> Settled:
        with self.app.engine.begin() as connection:
            return self._settling.settle(connection, owner or self.owner, settlements)


@pytest.fixture
def bench(app: Todoke) -> Bench:
    return Bench(app)


@pytest.fixture
def item(bench: Bench) -> Item:
    return bench.items[0]


def test_what_is_processed_moves_into_history(app: Todoke, bench: Bench, item: Item) -> None:
    """OB-3"""
    assert bench.settle(Processed(item, note="guest order")).processed == 1
    (row,) = history(app)
    assert (living(app), row.note, row.attempt, row.body) == ([], "guest order", 1, item.body)


def test_what_failed_goes_back_with_a_later_time(
    app: Todoke, bench: Bench, item: Item, clock: Clock
) -> None:
    """OB-3 OB-2"""
    assert bench.settle(Later(item, 90.0, BROKEN, of=4)).later == 1
    (row,) = living(app)
    assert (row.state, row.owner, row.attempt, row.spared) == ("later", None, 1, 0)
    assert (row.error_code, row.error_message, row.max_attempts) == ("SMTP_451", "try later", 4)
    assert row.scheduled_at == clock.now() + timedelta(seconds=90)


def test_what_was_spared_counts_no_attempt(app: Todoke, bench: Bench, item: Item) -> None:
    """OB-3"""
    bench.settle(Later(item, 5.0, spared=True))
    (row,) = living(app)
    assert row.attempt - row.spared == 0


def test_an_error_stays_known_when_a_later_attempt_only_waits(app: Todoke) -> None:
    """OB-2"""
    bench = Bench(app)
    bench.settle(Later(bench.items[0], 0.0, BROKEN))
    app.clock.advance("1s")  # type: ignore[attr-defined]
    with app.engine.begin() as connection:
        connection.execute(app.outbox_table.live.update().values(state="ready"))
    with app.engine.connect() as connection:
        (again,) = app.claims[0].take(connection, bench.owner, STREAM, 1)
    bench.settle(Later(again, 5.0, spared=True))
    assert [row.error_code for row in living(app)] == ["SMTP_451"]


def test_what_is_dead_leaves_the_outbox_complete(app: Todoke, bench: Bench, item: Item) -> None:
    """ER-3"""
    assert bench.settle(Dead(item, BROKEN)).dead == 1
    (letter,) = letters(app)
    assert living(app) == history(app) == []
    assert (letter.code, letter.error_class, letter.message, letter.traceback, letter.body) == (
        "SMTP_451", "transient", "try later", "Traceback …", item.body,
    )  # fmt: skip


def test_what_is_handed_back_is_free_at_once(app: Todoke, bench: Bench, item: Item) -> None:
    """OB-7"""
    assert bench.settle(HandedBack(item)).handed_back == 1
    (row,) = living(app)
    assert (row.state, row.owner, row.attempt - row.spared) == ("ready", None, 0)


SETTLEMENTS = [
    pytest.param(Processed, id="processed"),
    pytest.param(lambda item: Later(item, 1.0, BROKEN), id="later"),
    pytest.param(lambda item: Dead(item, BROKEN), id="dead"),
    pytest.param(HandedBack, id="handed back"),
]


@pytest.mark.parametrize("settlement", SETTLEMENTS)
def test_another_owner_writes_nothing_and_is_told(
    app: Todoke, bench: Bench, item: Item, settlement: type[Processed]
) -> None:
    """OB-6 OB-7"""
    before = living(app)
    settled = bench.settle(settlement(item), owner=app.identities.draw())
    assert settled == Settled(fenced=[item])
    assert (living(app), history(app), letters(app)) == (before, [], [])


@pytest.mark.parametrize("settlement", SETTLEMENTS)
def test_an_older_attempt_writes_nothing_and_is_told(
    app: Todoke, bench: Bench, item: Item, settlement: type[Processed]
) -> None:
    """OB-6 OB-7"""
    with app.engine.begin() as connection:
        connection.execute(app.outbox_table.live.update().values(attempt=2))
    before = living(app)
    assert bench.settle(settlement(item)) == Settled(fenced=[item])
    assert (living(app), history(app), letters(app)) == (before, [], [])


def test_what_belongs_to_a_fenced_one_is_not_written(app: Todoke, bench: Bench, item: Item) -> None:
    """OB-7"""
    written: list[Connection] = []
    bench.settle(Processed(item, then=written.append), owner=app.identities.draw())
    assert written == []


def test_settling_twice_is_no_loss_of_the_lease(app: Todoke, bench: Bench, item: Item) -> None:
    """OB-6: only the reply to the first commit was lost"""
    bench.settle(Processed(item))
    again = bench.settle(Processed(item))
    assert (again.processed, again.fenced) == (1, []), "counted, since the first try could not"
    assert len(history(app)) == 1


def test_neighbours_are_settled_each_in_its_own_way(app: Todoke) -> None:
    """OB-8"""
    bench = Bench(app, count=5)
    one, two, three, four, five = bench.items
    settled = bench.settle(
        Processed(one), Later(two, 1.0, BROKEN), Dead(three, BROKEN), HandedBack(four),
        Processed(five, note="skipped"),
    )  # fmt: skip
    assert settled == Settled(processed=2, later=1, dead=1, handed_back=1)
    assert [row.key for row in living(app)] == ["1", "3"]
    assert [row.key for row in history(app)] == ["0", "4"]
    assert [letter.key for letter in letters(app)] == ["2"]


def test_a_fenced_neighbour_harms_nobody(app: Todoke) -> None:
    """OB-8"""
    bench = Bench(app, count=3)
    with app.engine.begin() as connection:
        live = app.outbox_table.live
        connection.execute(live.update().where(live.c.id == bench.items[1].id).values(attempt=9))
    settled = bench.settle(*(Processed(item) for item in bench.items))
    assert (settled.processed, settled.fenced) == (2, [bench.items[1]])
