"""What a dead process held comes back; who is to blame for the crash is found out alone."""

from __future__ import annotations

from uuid import UUID

import pytest

from tests.application import Noted, leases, letters, living, publish, register, statuses
from todoke import Todoke
from todoke.runtime import Runtime
from todoke.testing import Clock
from todoke.work.item import Item
from todoke.work.slots import InlineSlots
from todoke.work.worker import Worker

STREAM = "todoke/default"


def claim(app: Todoke, worker: UUID, limit: int = 100) -> list[Item]:
    with app.engine.connect() as connection:
        return app.claims[0].take(connection, worker, STREAM, limit)


def die_with(app: Todoke, clock: Clock, limit: int = 100, *, alone: bool = False) -> list[Item]:
    """A process claims, and dies: its lease runs out and it is rescued from."""
    worker = register(app)
    if alone:
        with app.engine.connect() as connection:
            items = app.claims[0].take_suspect(connection, worker, STREAM)
    else:
        items = claim(app, worker, limit)
    clock.advance("16s")
    rescue(app)
    return items


def rescue(app: Todoke) -> None:
    _, rescuer = Runtime(app, leases=leases(app)).keepers()
    with app.engine.connect() as connection:
        rescuer.tick(connection)


def states(app: Todoke) -> list[tuple[str, UUID | None, int, int]]:
    return [(row.state, row.owner, row.attempt - row.spared, row.crashes) for row in living(app)]


def test_what_a_dead_process_held_is_free_again_as_a_suspect(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    publish(app, Noted(order_id=1), Noted(order_id=2))
    die_with(app, clock, limit=1)
    assert states(app) == [("suspect", None, 0, 0), ("ready", None, 0, 0)]


def test_what_a_living_process_holds_is_left_alone(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    publish(app, Noted(order_id=1))
    worker = register(app)
    claim(app, worker, 1)
    clock.advance("15s")
    rescue(app)
    assert [row.owner for row in living(app)] == [worker]


def test_an_owner_nobody_knows_of_is_rescued_from(app: Todoke) -> None:
    """OB-7"""
    publish(app, Noted(order_id=1))
    worker = register(app)
    claim(app, worker, 1)
    with app.engine.begin() as connection:
        leases(app).deregister(connection, worker)
    rescue(app)
    assert states(app) == [("suspect", None, 0, 0)]


def test_a_suspect_that_survives_is_processed_like_any_other(app: Todoke, clock: Clock) -> None:
    """OB-7"""

    @app.on(Noted)
    def note(event: Noted) -> None: ...

    publish(app, *(Noted(order_id=n) for n in range(3)))
    die_with(app, clock)
    app.drain()
    assert statuses(app) == [("PROCESSED", 1)] * 3


def test_neighbours_of_a_crash_are_not_blamed_however_often(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    publish(app, *(Noted(order_id=n) for n in range(3)))
    for _ in range(5):
        die_with(app, clock)
        with app.engine.begin() as connection:
            connection.execute(app.outbox_table.live.update().values(state="ready"))
    assert [state[3] for state in states(app)] == [0, 0, 0]


def test_the_third_crash_alone_makes_a_dead_letter(app: Todoke, clock: Clock) -> None:
    """OB-7 ER-3"""
    publish(app, Noted(order_id=1))
    die_with(app, clock)
    for crashes in (1, 2):
        die_with(app, clock, alone=True)
        assert states(app) == [("suspect", None, 0, crashes)]
    die_with(app, clock, alone=True)
    (letter,) = letters(app)
    assert (letter.code, letter.crashes, living(app)) == ("CRASHED", 3, [])


def lone_worker(app: Todoke) -> tuple[Runtime, Worker]:
    runtime = Runtime(app, leases=leases(app))
    return runtime, runtime.worker(InlineSlots(runtime.performer, app.event_loop))


def test_a_suspect_runs_with_nothing_beside_it(app: Todoke, clock: Clock) -> None:
    """OB-7"""
    beside: dict[int, int] = {}

    @app.on(Noted)
    def look(event: Noted) -> None:
        beside[event.order_id] = sum(row.owner is not None for row in living(app))

    publish(app, Noted(order_id=1), Noted(order_id=2))
    die_with(app, clock)
    publish(app, Noted(order_id=3), Noted(order_id=4))
    app.drain()
    assert beside == {1: 1, 2: 1, 3: 2, 4: 2}


def test_suspects_do_not_starve_the_others(app: Todoke, clock: Clock) -> None:
    """OB-7 OB-8"""
    order: list[int] = []

    @app.on(Noted)
    def note(event: Noted) -> None:
        order.append(event.order_id)

    publish(app, *(Noted(order_id=n) for n in range(3)))
    die_with(app, clock)
    publish(app, Noted(order_id=9))
    app.drain()
    assert order.index(9) == 1


def test_a_late_original_can_no_longer_write(
    app: Todoke, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """OB-7"""
    seen: list[int] = []

    @app.on(Noted)
    def slow(event: Noted) -> None:
        seen.append(1)
        if len(seen) == 1:
            clock.advance("16s")
            rescue(app)
            app.drain()

    publish(app, Noted(order_id=1))
    runtime, worker = lone_worker(app)
    with app.engine.connect() as connection:
        runtime.membership.join(connection)
        worker.tick(connection)
        worker.tick(connection)
    assert (len(seen), runtime.counts["fenced"], statuses(app)) == (2, 1, [("PROCESSED", 1)])
    assert "finished too late" in caplog.text


def test_a_handler_that_asks_is_not_run_again_after_a_crash(app: Todoke, clock: Clock) -> None:
    """OB-7 SH-4"""
    publish(app, Noted(order_id=1))
    worker = register(app)
    (item,) = claim(app, worker, 1)
    with app.engine.begin() as connection:
        assert app.settlings[0].start(connection, worker, item)
    clock.advance("16s")
    rescue(app)
    (letter,) = letters(app)
    assert letter.code == "OUTCOME_UNKNOWN"
    assert "Find out whether it took effect, then redrive or resolve." in letter.message


def test_a_handler_that_asks_is_marked_before_it_starts(app: Todoke) -> None:
    """OB-7"""
    seen: list[bool] = []

    @app.on(Noted, on_crash="ask")
    def look(event: Noted) -> None:
        seen.extend(row.started for row in living(app))

    publish(app, Noted(order_id=1))
    app.drain()
    assert (seen, statuses(app)) == ([True], [("PROCESSED", 1)])


def test_what_was_claimed_and_not_begun_is_not_asked_about(app: Todoke, clock: Clock) -> None:
    """OB-7"""

    @app.on(Noted, on_crash="ask")
    def note(event: Noted) -> None: ...

    publish(app, Noted(order_id=1))
    die_with(app, clock)
    app.drain()
    assert statuses(app) == [("PROCESSED", 1)]
