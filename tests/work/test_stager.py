"""What becomes due is readied, in batches, and nothing before its time."""

from __future__ import annotations

from tests.application import Placed, living, publish
from todoke import Todoke
from todoke.testing import Clock
from todoke.work.stage import Stager


def stage(app: Todoke, batch: int = 100) -> float:
    stager = Stager([app.outbox_table, app.inbox_table], app.database, batch=batch, poll=1.0)
    with app.engine.connect() as connection:
        return stager.tick(connection)


def ready(app: Todoke) -> list[int]:
    return [int(row.key) for row in living(app) if row.state == "ready"]


def test_what_is_due_becomes_ready(app: Todoke, clock: Clock) -> None:
    """OB-2"""
    publish(app, Placed(order_id=1), delay="10s")
    publish(app, Placed(order_id=2), delay="20s")
    clock.advance("10s")
    assert (stage(app), ready(app)) == (1.0, [1])


def test_nothing_is_readied_before_its_time(app: Todoke, clock: Clock) -> None:
    """OB-2"""
    publish(app, Placed(order_id=1), delay="10s")
    clock.advance("9.999s")
    stage(app)
    assert ready(app) == []


def test_a_full_batch_is_followed_by_the_next_at_once(app: Todoke, clock: Clock) -> None:
    """OB-5"""
    publish(app, *(Placed(order_id=n) for n in range(5)), delay="1s")
    clock.advance("1s")
    assert (stage(app, batch=3), len(ready(app))) == (0.0, 3)
    assert (stage(app, batch=3), len(ready(app))) == (1.0, 5)


def test_a_delayed_event_is_delivered_when_it_is_due(app: Todoke, clock: Clock) -> None:
    """OB-2"""
    seen: list[int] = []

    @app.on(Placed)
    def note(event: Placed) -> None:
        seen.append(event.order_id)

    publish(app, Placed(order_id=1), delay="1h")
    app.drain()
    assert seen == []
    clock.advance("1h")
    app.drain()
    assert seen == [1]
