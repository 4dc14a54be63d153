"""Where a claim without order begins: behind the last, while there is a backlog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection

from tests.application import Noted, application, living, publish, register
from tests.proof.cost import cost
from todoke import Todoke
from todoke.work.item import Item
from todoke.work.mark import BEGINNING, Mark

STREAM = "todoke/default"


def items(*ids: int) -> Sequence[Item]:
    blank = Item(*[None] * len(Item._fields))  # type: ignore[arg-type]
    return [blank._replace(id=one, priority=0) for one in ids]


def test_it_goes_on_behind_a_full_claim() -> None:
    """OB-5"""
    mark = Mark()
    assert mark.start(10.0) == BEGINNING
    assert not mark.note(items(1, 2), 10.0, 10.001, full=True)
    assert mark.start(10.001) == (0, 2)


def test_a_short_claim_behind_a_mark_is_no_end_yet() -> None:
    """OB-5: something may have come into sight before the mark."""
    mark = Mark()
    mark.start(10.0)
    mark.note(items(1, 2), 10.0, 10.001, full=True)
    mark.start(10.001)
    assert not mark.note(items(3), 10.001, 10.002, full=False)
    assert mark.start(10.002) == BEGINNING
    assert mark.note(items(), 10.002, 10.003, full=False)


def test_while_there_is_a_backlog_it_looks_from_the_beginning_once_a_second() -> None:
    """OB-5"""
    mark = Mark()
    mark.start(10.0)
    mark.note(items(1), 10.0, 10.001, full=True)
    assert mark.start(11.0) == (0, 1)
    assert mark.start(11.002) == BEGINNING


def test_looks_from_the_beginning_that_take_long_are_rare() -> None:
    """OB-5: such as while an old transaction keeps dead rows in sight."""
    mark = Mark()
    mark.start(9.9)
    assert mark.note(items(6), 9.9, 9.92, full=False)
    assert mark.start(10.0) == BEGINNING
    assert mark.note(items(7), 10.0, 10.02, full=False)
    assert mark.start(10.9) == (0, 7)
    assert mark.note(items(), 10.9, 10.901, full=False)
    assert mark.start(11.03) == BEGINNING


def test_one_look_that_took_long_makes_none_rare() -> None:
    """OB-5: it waited for a lock, or its process stood still; what it passed by may be free now."""
    mark = Mark()
    mark.start(10.0)
    assert mark.note(items(7), 10.0, 15.0, full=False)
    assert mark.start(15.0) == BEGINNING
    mark.note(items(8), 15.0, 15.001, full=False)
    mark.start(16.0)
    mark.note(items(9), 16.0, 17.0, full=False)
    assert mark.start(17.0) == BEGINNING


def test_what_commits_late_is_found_before_the_stream_counts_as_empty(app: Todoke) -> None:
    """OB-4 OB-5: a lower id that comes into sight after higher ones were claimed."""
    seen: list[int] = []

    @app.on(Noted)
    def note(event: Noted) -> None:
        seen.append(event.order_id)
        if event.order_id == 150:
            with app.engine.begin() as connection:
                connection.execute(late.where(live.c.key == "3"))

    live = app.outbox_table.live
    late = live.update().values(state="ready")
    publish(app, *(Noted(order_id=number) for number in range(200)))
    with app.engine.begin() as connection:
        connection.execute(live.update().values(state="away").where(live.c.key == "3"))
    app.drain()
    assert sorted(seen) == list(range(200))
    assert living(app) == []


@pytest.fixture
def postgres_app(postgres_copy: str) -> Iterator[Todoke]:
    with application(postgres_copy) as app:
        yield app


@pytest.mark.parametrize("begins_behind", [True, False], ids=["behind", "from the beginning"])
def test_an_old_snapshot_costs_claims_behind_a_mark_nothing(
    postgres_app: Todoke, begins_behind: bool
) -> None:
    """OP-5: pages per claim, while a transaction still sees all that was settled."""
    app = postgres_app
    publish(app, *(Noted(order_id=number) for number in range(4000)))
    owner, mark, spent = register(app, 3600), BEGINNING, list[int]()
    other = create_engine(app.engine.url, isolation_level="REPEATABLE READ")
    with other.connect() as old, app.agents_engine.connect() as connection:
        old.execute(text("SELECT count(*) FROM todoke.outbox"))
        for _ in range(30):
            claimed: list[Item] = []
            start = mark

            def claim(on: Connection, claimed: list[Item] = claimed, start: object = start) -> None:
                place = cast("tuple[int, int]", start)
                claimed += app.claims[0].take(on, owner, STREAM, 100, place)

            spent.append(cost(connection, claim))
            mark = (0, claimed[-1].id) if begins_behind else BEGINNING
            with app.engine.begin() as writer:
                live = app.outbox_table.live
                writer.execute(live.delete().where(live.c.owner == owner))
    other.dispose()
    assert (spent[-1] < 1.1 * spent[0]) is begins_behind
