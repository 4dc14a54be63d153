"""What jobs leave that live no more is found and let go; what belongs to living ones stays."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, insert
from sqlalchemy.orm import Session

from tests.application import application
from tests.jobs.desk import Desk, Export, forgetting
from tests.proof.cost import cost
from todoke import PermanentError, Run
from todoke.errors import Cancelled
from todoke.jobs.forget import Forgetting
from todoke.jobs.remains import Remains, _Walk
from todoke.testing import Clock

MONDAY = Export(day="monday")


def look(desk: Desk, forgets: Forgetting | None = None) -> None:
    with desk.app.agents_engine.connect() as connection:
        (forgets or forgetting(desk.app)).tick(connection)


def asked(desk: Desk) -> list[UUID]:
    """Jobs that somebody wants to end."""
    return sorted(row.job_id for row in desk.rows(desk.app.job_room.tables.cancellations))


def ask(desk: Desk, id: UUID, by: str = "ken") -> None:
    """As a cancellation does whose look was before the job's end."""
    with desk.app.engine.begin() as connection:
        desk.app.jobs._cancelling.ask(connection, id, by, "wrong day")


def leave_cursors(desk: Desk, *jobs: UUID) -> None:
    """Two loops over chunks of each."""
    cursors, now = desk.app.job_room.tables.cursors, desk.app.database.clock.now()
    rows = [
        {"job_id": id, "name": name, "cursor": "7", "processed": 7, "updated_at": now}
        for id in jobs
        for name in ("a", "b")
    ]
    with desk.app.engine.begin() as connection:
        connection.execute(insert(cursors), rows)


def test_a_cancellation_of_a_job_that_was_just_ending_is_forgotten(desk: Desk) -> None:
    """JB-9: a plain success looks for none; that of a job that lives stays."""

    @desk.app.job()
    def plain(number: int) -> None:
        desk.act("cancel", ids[number])

    ids = [desk.enqueue(plain, 0)]
    desk.app.drain()
    assert (desk.get(ids[0]).status, asked(desk)) == ("PROCESSED", ids)
    running = desk.enqueue(desk.export, MONDAY)
    desk.claim(desk.worker())
    desk.act("cancel", running)
    look(desk)
    assert asked(desk) == [running]


def test_cursors_that_a_job_left_are_forgotten(migrated_url: str) -> None:
    """JB-9: it was switched off between two attempts, so nobody looked for them."""
    settings: dict[str, object] = {"jobs.enabled.export": False}
    with application(migrated_url, settings=settings) as app:
        desk = Desk(app)
        ended, living = (desk.enqueue(desk.export, MONDAY, delay=wait) for wait in (None, "1h"))
        leave_cursors(desk, ended, living)
        app.drain()
        look(desk)
        rows = desk.rows(app.job_room.tables.cursors)
        assert [row.job_id for row in rows] == [living, living]


def test_cursors_of_a_dead_job_stay_while_it_may_be_redriven(migrated_url: str) -> None:
    """JB-10: it goes on behind the pieces that were done; once resolved, nobody needs them."""
    with application(migrated_url) as app:
        done: list[int] = []

        @app.job()
        def walk(run: Run) -> None:
            for _, (number,) in run.chunks(following, cursor=lambda one: one, size=1):
                done.append(number)
                if done == [0, 1]:
                    raise PermanentError("in the middle", code="MIDDLE")

        desk = Desk(app)
        id = desk.enqueue(walk)
        app.drain()
        look(desk)
        assert desk.get(id).status == "DEAD"
        desk.act("retry", id)
        app.drain()
        assert done == [0, 1, 1, 2], "the piece that failed is done again, and no other"


def test_cursors_of_a_resolved_job_are_forgotten(desk: Desk) -> None:
    """JB-10"""
    id = desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    leave_cursors(desk, id)
    look(desk)
    assert len(desk.rows(desk.app.job_room.tables.cursors)) == 2
    with desk.app.session() as session:
        letters = desk.app.dead_letters
        letters.resolve(session, letters.where(name="refuse"), by="ken", reason="not needed")
    look(desk)
    assert desk.rows(desk.app.job_room.tables.cursors) == []


def following(_session: Session, after: int | None, _size: int) -> list[int]:
    number = 0 if after is None else after + 1
    return [number] if number < 3 else []


def test_a_look_goes_on_behind_the_last(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """JB-9 JB-5: so many at a time, however many belong to jobs that live."""
    monkeypatch.setattr("todoke.jobs.remains._AT_ONCE", 2)
    living = [desk.enqueue(desk.export, MONDAY, delay="1h") for _ in range(4)]
    gone = [desk.app.identities.draw() for _ in range(5)]
    for id in (*living, *gone):
        ask(desk, id)
    forgets, left = forgetting(desk.app), []
    for _ in range(5):
        look(desk, forgets)
        left.append(len(asked(desk)))
    assert left == [9, 9, 7, 5, 4]
    ask(desk, gone[0])
    for _ in range(3):
        look(desk, forgets)
    assert asked(desk) == sorted(living), "from the end it begins again"


def test_what_a_look_costs_does_not_grow_with_history(desk: Desk) -> None:
    """JB-5: a thousand jobs more have ended, and a look reads as much as before."""
    few = _cost_of_a_look(desk)
    with desk.app.engine.begin() as connection:
        desk.export.enqueue_all(connection, [MONDAY] * 1000)
    desk.act("cancel_all", job="export")
    assert _cost_of_a_look(desk) < 1.5 * few


def _cost_of_a_look(desk: Desk) -> int:
    """With ten cancellations, half of them of jobs that live."""
    living = [desk.enqueue(desk.renamed, delay="1h") for _ in range(5)]
    for id in (*living, *desk.app.identities.draw_many(5)):
        ask(desk, id)
    remains = Remains(desk.app.job_room.tables, desk.app.letter_table)
    with desk.app.agents_engine.connect() as connection:
        spent = cost(connection, remains.forget)
    assert asked(desk) == sorted(living)
    desk.act("cancel_all", queue="files")
    return spent


def test_a_job_that_came_back_since_the_look_keeps_its_cancellation(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JB-9: redriven and cancelled again while somebody is about to forget the earlier one."""
    id, search = desk.enqueue(desk.refuse, 7), _Walk._look
    desk.app.drain()
    ask(desk, id)

    def late(self: _Walk, connection: Connection) -> Collection[UUID]:
        found = search(self, connection)
        if found:
            desk.act("retry", id)
            desk.claim(desk.worker())
            desk.act("cancel", id, by="mika")
        return found

    monkeypatch.setattr(_Walk, "_look", late)
    look(desk)
    (wish,) = desk.rows(desk.app.job_room.tables.cancellations)
    assert (wish.job_id, wish.author) == (id, "mika")


@pytest.mark.parametrize("way", ["redrive", "retry"])
def test_a_job_that_comes_back_is_not_ended_by_an_earlier_cancellation(
    desk: Desk, way: str
) -> None:
    """JB-9: it was meant for the life that has ended."""
    id = desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    ask(desk, id)
    _send_again(desk, way, id)
    assert desk.get(id).status == "PENDING"
    assert asked(desk) == []
    desk.claim(desk.worker())
    desk.act("cancel", id, by="mika")
    assert "mika asked at " in desk.why(id)[1]


def test_who_retries_a_waiting_job_overrules_who_wanted_it_to_end(desk: Desk) -> None:
    """JB-9: it was cancelled while its attempt was failing; the later word counts."""
    id = desk.enqueue(desk.fail, 1)
    desk.app.drain()
    ask(desk, id)
    desk.act("retry", id)
    assert asked(desk) == []


def test_a_cancelled_run_leaves_no_wish(migrated_url: str) -> None:
    """JB-9: though it has asked for no Run."""
    with application(migrated_url, clock=Clock()) as app:
        desk = Desk(app)

        @app.job()
        async def plain() -> None:
            desk.act("cancel", id)
            (run,) = app.job_room.in_hand.all()
            run.call.cancel(Cancelled(run.call.handler.where, id, "ken"))
            raise run.call.cancelled or AssertionError

        id = desk.enqueue(plain)
        app.drain()
        assert (desk.get(id).status, asked(desk)) == ("CANCELLED", [])


def _send_again(desk: Desk, way: str, id: UUID) -> Any:
    letters = desk.app.dead_letters
    if way == "retry":
        return desk.act("retry", id)
    with desk.app.session() as session:
        return letters.redrive(session, letters.where(), by="ken", reason="again")
