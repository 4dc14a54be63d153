"""The profile `throughput`: the next batch is claimed while the last is settled beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from tests.application import Noted, Placed, history, living, publish
from tests.servers.postgres import postgres_instance
from tests.waiting import until
from tests.work.running import Gate, quick_application, worker
from todoke import Backoff, Event, PermanentError, Todoke, TransientError
from todoke.work.settlement import HandedBack, Processed
from todoke.work.settler import Beside, Group, Settler, Unsettled

FAST = {"outbox.profile": "throughput"}


class Answered(Event, ordered=False):
    order: int


@pytest.fixture
def app(migrated_url: str) -> Iterator[Todoke]:
    with quick_application(migrated_url, **FAST) as app:
        yield app


def test_every_outcome_is_settled(app: Todoke) -> None:
    """OB-3 OB-4 ER-2"""
    tries: Counter[int] = Counter()

    @app.on(Noted, retry=Backoff("10ms", attempts=3))
    def handle(event: Noted) -> Answered | None:
        tries[event.order_id] += 1
        if event.order_id % 10 == 1:
            raise PermanentError("never")
        if event.order_id % 10 == 2 and tries[event.order_id] == 1:
            raise TransientError("not yet")
        return Answered(order=event.order_id) if event.order_id % 10 == 3 else None

    @app.on(Answered)
    async def answer(event: Answered) -> None: ...

    publish(app, *(Noted(order_id=number) for number in range(1000)))
    with worker(app):
        until(lambda: len(history(app)) == 1000 and living(app) == [], 60)
    with app.session() as session:
        assert app.events.status(session).dead == 100
    assert set(tries.values()) == {1, 2}


def test_order_is_kept(app: Todoke) -> None:
    """OB-9"""
    seen: dict[int, list[str]] = {}

    @app.on(Placed)
    async def note(event: Placed) -> None:
        seen.setdefault(event.order_id, []).append(event.note)

    publish(app, *(Placed(order_id=n % 20, note=f"{n // 20:03}") for n in range(2000)))
    with worker(app):
        until(lambda: len(history(app)) == 2000, 60)
    assert all(notes == sorted(notes) and len(notes) == 100 for notes in seen.values())


def test_an_outage_while_it_settles_loses_nothing() -> None:
    """OB-4 OB-7"""
    with postgres_instance() as server, quick_application(server.url(), **FAST) as app:

        @app.on(Noted, retry=Backoff(attempts=1))
        async def note(event: Noted) -> None: ...

        publish(app, *(Noted(order_id=number) for number in range(5000)))
        with worker(app) as (runtime, _):
            until(lambda: runtime.counts["processed"] > 500)
            server.stop_immediately()
            server.start()
            until(lambda: runtime.counts["processed"] + runtime.counts["rescued"] >= 5000, 60)
            until(lambda: living(app) == [], 60)
        assert len(history(app)) == 5000


def test_what_a_stopping_worker_has_not_finished_goes_back(app: Todoke) -> None:
    """OB-4 OB-7"""
    gate = Gate()

    @app.on(Noted)
    def wait(event: Noted) -> None:
        if event.order_id >= 8:
            gate.wait(event.order_id)

    publish(app, *(Noted(order_id=number) for number in range(50)))
    with worker(app) as (_, process):
        until(lambda: len(gate.arrived) == 4)
        assert process.stop(0.2).handed_back
        assert {row.owner for row in living(app)} == {None}
        assert len(living(app)) + len(history(app)) == 50
        gate.open()


# --- the agent by itself ---------------------------------------------------------------------


class Events:
    """Where they come from, as far as it matters here."""

    name = "event"


SOURCE: Any = Events()
CONNECTION: Any = None
OWNER = uuid4()


class Line(Settler):
    """Where groups are written to, unless it is broken."""

    def __init__(self) -> None:
        self.broken = False

    def write(self, connection: Connection, group: Group) -> None:
        if self.broken:
            raise OperationalError("COMMIT", {}, Exception("gone"))


def processed(number: int) -> Processed:
    item: Any = SimpleNamespace(id=number, claim=(number, 1))
    return Processed(item)


def no_more(_group: Group) -> None: ...


def test_a_group_is_given_up_only_once_it_is_written() -> None:
    """OB-4"""
    line, rung = Line(), list[str]()
    beside = Beside(line, lambda: rung.append("written"))
    beside.on_given = lambda: rung.append("given")
    beside.give(Group(SOURCE, OWNER, [processed(1)]))
    line.broken = True
    with pytest.raises(OperationalError):
        beside.tick(CONNECTION)
    assert (beside.busy, beside.written()) == (True, [])
    line.broken = False
    beside.tick(CONNECTION)
    assert (beside.busy, len(beside.written()), rung) == (False, 1, ["given", "written"])


def test_what_is_being_written_is_known(app: Todoke) -> None:
    """OB-4: a claim whose reply was lost frees what nobody here knows of."""
    unsettled = Unsettled(app.database, Beside(Line(), lambda: None))
    unsettled.add(SOURCE, OWNER, processed(1))
    assert list(unsettled.write(CONNECTION, no_more)) == []
    unsettled.add(SOURCE, OWNER, processed(2))
    assert unsettled.claims(SOURCE.name) == {(1, 1), (2, 1)}
    assert unsettled.holds((SOURCE.name, 1))
    assert not unsettled.can_be_written
    assert unsettled.is_behind(1)
    assert not unsettled.is_behind(2)


def test_a_process_that_ends_writes_what_the_agent_left(
    app: Todoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OB-4"""
    monkeypatch.setattr(Settler, "write", lambda *_: None)
    unsettled = Unsettled(app.database, Beside(Line(), lambda: None))
    unsettled.add(SOURCE, OWNER, processed(1))
    assert list(unsettled.write(CONNECTION, no_more)) == []
    unsettled.add(SOURCE, OWNER, HandedBack(processed(2).item))
    unsettled.take_over()
    (group,) = unsettled.write(CONNECTION, no_more)
    assert {one.item.id for one in group.settlements} == {1, 2}
    assert not unsettled
