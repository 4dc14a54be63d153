"""How long what is due has been waiting, on every kind of database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from tests.application import Noted, Placed, Shipped, publish, rows
from tests.proof.cost import cost
from todoke import Todoke, TransientError
from todoke.database import reading
from todoke.metrics import OF_A_LANE, OF_MANY, Age
from todoke.testing import Clock


def ages(app: Todoke) -> list[Age]:
    with app.session() as session:
        return app.metrics.ages(session)


def seconds(app: Todoke) -> tuple[float, float]:
    """The 95th percentile and the oldest."""
    (age,) = ages(app)
    return age.p95.total_seconds(), age.oldest.total_seconds()


def test_nothing_waits_nothing_is_told(app: Todoke) -> None:
    """ID-9"""
    assert ages(app) == []


def test_the_95th_percentile_is_that_of_all_that_is_due(app: Todoke, clock: Clock) -> None:
    """ID-9: of a hundred, five are older; whether they keep an order or not."""
    for number in range(100):
        publish(app, Noted(order_id=number) if number % 2 else Placed(order_id=number))
        clock.advance("1s")
    assert seconds(app) == (95.0, 100.0)
    (age,) = ages(app)
    assert (age.context, age.exact) == ("todoke", True)


def test_what_waits_for_its_time_is_not_due(app: Todoke, clock: Clock) -> None:
    """ID-9: neither what was delayed nor what is tried again later, until its time has come."""

    @app.on(Placed, retry="mail")
    def note(event: Placed) -> None:
        raise TransientError("not now")

    publish(app, Placed(order_id=1))
    publish(app, Shipped(), delay="1h")
    app.drain()
    assert ages(app) == []
    clock.advance("1m")  # due for half a minute, by the policy of this handler
    assert 0 < seconds(app)[1] <= 31
    clock.advance("1h")
    assert seconds(app)[1] > 3600


def test_deliveries_count_and_what_is_in_hand_does_not(app: Todoke, clock: Clock) -> None:
    """ID-9: what a worker has is not waiting for one."""
    found: list[list[Age]] = []

    @app.on(Placed)
    def first(event: Placed) -> None:
        found.append(ages(app))

    @app.on(Placed)
    def second(event: Placed) -> None:
        pass

    publish(app, Placed(order_id=1))
    clock.advance("10s")
    assert seconds(app) == (10.0, 10.0)
    app.drain()
    assert found == [[]]
    assert not rows(app, app.inbox_table.live)


async def test_async_handles_are_awaited(app: Todoke, clock: Clock) -> None:
    """ID-9"""
    publish(app, Placed(order_id=1))
    clock.advance("10s")
    async with app.async_session() as session:
        (age,) = await app.metrics.ages(session)
    assert age.p95 == timedelta(seconds=10)
    await app.async_engine.dispose()


@pytest.mark.parametrize("old", [1, OF_A_LANE * 10])
def test_beyond_what_is_read_the_age_is_never_told_too_small(
    on_sqlite: Todoke, clock: Clock, old: int
) -> None:
    """ID-9: one key with far more rows than are read of its lane, beside many young ones."""
    publish(on_sqlite, *[Placed(order_id=1) for _ in range(old)])
    clock.advance("1h")
    publish(on_sqlite, *[Placed(order_id=number) for number in range(2, 5000)])
    clock.advance("1s")
    (age,) = ages(on_sqlite)
    true = 3601.0 if old > 0.05 * (old + 4998) else 1.0
    assert age.p95.total_seconds() >= true
    assert not age.exact or old == 1


def test_rows_that_were_tried_already_hide_no_older_ones(on_sqlite: Todoke, clock: Clock) -> None:
    """ID-9: they come first in the index, and are due only since their last attempt."""
    publish(on_sqlite, *[Noted(order_id=number) for number in range(OF_MANY + 200)])
    clock.advance("1h")
    live = on_sqlite.outbox_table.live
    with on_sqlite.engine.begin() as connection:
        tried = live.update().where(live.c.id <= OF_MANY)
        connection.execute(tried.values(scheduled_at=clock.now()))
    (age,) = ages(on_sqlite)
    assert (age.p95.total_seconds(), age.oldest.total_seconds()) == (3600, 3600)
    assert not age.exact


def test_what_is_read_does_not_grow_with_a_backlog(app: Todoke) -> None:
    """ID-9: twice as much waits, and asking costs the same."""
    clear = 3 * (64 * OF_A_LANE + OF_MANY)

    def look(connection: Connection) -> None:
        with reading(connection):
            assert not app.metrics.ages(connection)[0].exact

    costs = []
    for _ in range(2):
        publish(app, *[Placed(order_id=number) for number in range(clear // 2)])
        publish(app, *[Noted(order_id=number) for number in range(clear // 2)])
        publish(app, *[Shipped() for _ in range(1000)], delay="1d")
        _refresh(app)
        with app.agents_engine.connect() as connection:
            look(connection)
            costs.append(cost(connection, look))
    assert costs[1] < 1.3 * costs[0], costs


def _refresh(app: Todoke) -> None:
    """As autovacuum does after a while."""
    command = {"postgresql": "ANALYZE", "mariadb": "ANALYZE TABLE todoke_outbox"}
    with app.engine.connect() as connection:
        if (name := connection.dialect.name) in command:
            connection.exec_driver_sql(command[name])
            connection.commit()
