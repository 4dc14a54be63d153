"""Jobs that people end: those that wait at once, those that run by their worker."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, update

from tests.application import application
from tests.jobs.desk import Desk, Export
from todoke import Unique, batch
from todoke.errors import InvalidOption
from todoke.jobs.cancel import Cancelling
from todoke.operate import JobOperation, Operation

MONDAY = Export(day="monday")


@pytest.mark.parametrize("options", [{}, {"delay": "5m"}])
def test_a_waiting_job_is_cancelled(desk: Desk, options: dict[str, str]) -> None:
    """JB-9: it never runs, and the history tells who ended it."""
    id = desk.enqueue(desk.export, MONDAY, unique="k", **options)
    assert desk.act("cancel", id) == JobOperation(1, "cancel", 1, 1, id)
    desk.app.drain()
    assert desk.done == []
    assert desk.states() == []
    (run,) = desk.rows(desk.app.job_room.tables.runs)
    assert (run.status, run.attempt, run.note) == ("SKIPPED", 0, "CANCELLED: by ken: wrong day")
    assert desk.rows(desk.app.job_room.tables.unique_keys) == []
    assert desk.operations() == [("cancel", 1, "ken", "wrong day")]


def test_a_held_job_is_cancelled(desk: Desk) -> None:
    """JB-9: one behind a full key."""
    ids = [desk.enqueue(desk.tenant, {"tenant": "acme"}) for _ in range(3)]
    desk.claim(desk.worker(), "todoke/default/tenant", 3)
    assert desk.states() == ["held", "held", "ready"]
    desk.act("cancel", ids[2])
    assert desk.states() == ["held", "ready"]
    assert desk.get(ids[2]).status == "CANCELLED"


def test_a_batch_counts_a_cancelled_job_as_failed(desk: Desk) -> None:
    """JB-9: what follows a batch does not wait for it for ever."""
    app = desk.app
    with app.session() as session:
        calls = [desk.export.bind(MONDAY), desk.export.bind(Export(day="tuesday"))]
        made = app.enqueue(session, batch(calls, failed=desk.export.bind(Export(day="sorry"))))
    desk.act("cancel", made.jobs[1].id)
    assert desk.get(made.jobs[0].id).batch == made.id
    app.drain()
    assert desk.done == ["monday", "sorry"]


def test_a_running_job_is_asked_to_end(desk: Desk) -> None:
    """JB-9: its worker reads the wish; the first who asked is named."""
    id = desk.enqueue(desk.export, MONDAY)
    desk.claim(desk.worker())
    assert desk.act("cancel", id) == JobOperation(1, "cancel", 1, 0, id)
    assert desk.act("cancel", id, by="mika").done == 0
    (wish,) = desk.rows(desk.app.job_room.tables.cancellations)
    assert (wish.job_id, wish.author, wish.reason) == (id, "ken", "wrong day")
    assert desk.get(id).status == "PROCESSING"


def test_a_worker_that_is_faster_is_asked(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """JB-9: claimed between the look and the end."""
    id, worker = desk.enqueue(desk.export, MONDAY), desk.worker()
    end, live = Cancelling.one, desk.app.jobs_table.live

    def late(self: Cancelling, connection: Connection, *given: Any) -> bool:
        connection.execute(update(live).values(owner=worker))
        return end(self, connection, *given)

    monkeypatch.setattr(Cancelling, "one", late)
    assert desk.act("cancel", id).done == 0
    assert len(desk.rows(desk.app.job_room.tables.cancellations)) == 1
    assert desk.get(id).status == "PROCESSING"


def test_a_job_that_is_locked_for_long_is_not_waited_for(postgres_copy: str) -> None:
    """JB-9: somebody works on its row in a transaction; the wish waits for whoever takes it."""
    with application(postgres_copy) as app:
        desk = Desk(app)
        id = desk.enqueue(desk.export, MONDAY)
        with app.engine.begin() as other:
            other.execute(update(app.jobs_table.live).values(priority=1))
            assert desk.act("cancel", id).done == 0
        assert len(desk.rows(app.job_room.tables.cancellations)) == 1
        assert "ken asked at " in desk.why(id)[0]


def test_what_has_ended_cannot_be_cancelled(desk: Desk) -> None:
    done, dead = desk.enqueue(desk.export, MONDAY), desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    with pytest.raises(InvalidOption, match="has ended already"):
        desk.act("cancel", done)
    with pytest.raises(InvalidOption, match="dead-letters resolve"):
        desk.act("cancel", dead)
    assert desk.operations() == []


def test_all_that_wait_are_cancelled(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """JB-9: of one name; what runs goes on, what is of another stays."""
    monkeypatch.setattr("todoke.jobs.cancel._AT_ONCE", 2)
    running = desk.enqueue(desk.export, MONDAY, priority=9)
    desk.claim(desk.worker())
    waiting = [desk.enqueue(desk.export, MONDAY, unique=f"{n}") for n in range(5)]
    other = desk.enqueue(desk.renamed)
    assert desk.act("cancel_all", job="export", dry_run=True) == Operation(0, "cancel", 5, 0)
    assert desk.act("cancel_all", job="export") == Operation(1, "cancel", 5, 5)
    assert {desk.get(id).status for id in waiting} == {"CANCELLED"}
    assert (desk.get(running).status, desk.get(other).status) == ("PROCESSING", "PENDING")
    assert desk.rows(desk.app.job_room.tables.unique_keys) == []
    assert desk.act("cancel_all", queue="files").done == 1
    with pytest.raises(InvalidOption, match="say which"):
        desk.act("cancel_all")


def test_a_key_for_a_time_outlives_a_cancelled_job(desk: Desk) -> None:
    """JB-9: within a day is within a day."""
    id = desk.enqueue(desk.export, MONDAY, unique=Unique("k", within="1d"))
    desk.act("cancel", id)
    assert desk.get(id).unique == "k"
    assert isinstance(desk.enqueue(desk.export, MONDAY, unique="k"), UUID)
    assert desk.states() == []
