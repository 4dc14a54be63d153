"""Queues and jobs that rest until a person lets them go on."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from tests.application import application
from tests.jobs.desk import Desk, Export
from todoke.errors import InvalidOption

MONDAY = Export(day="monday")


def test_a_pause_is_read_by_queue_and_job(desk: Desk) -> None:
    """JB-9"""
    app, pauses = desk.app, desk.app.job_room.pauses
    desk.act("pause", queue="files")
    desk.act("pause", queue="todoke/default")
    desk.act("pause", job="old-name", reason="it floods")
    with app.engine.begin() as connection:
        assert pauses.put(connection, "schedule", "nightly", "mika", "holiday")
        paused = pauses.read(connection)
        assert len(app.jobs.pauses(connection)) == 4
    assert paused
    assert paused.queue("other/files/psp") is not None
    assert paused.queue("other/default") is None
    assert paused.queue("todoke/default") is not None
    assert paused.job("export") is None
    found = paused.job("renamed")  # a pause is of the job, whatever it was called
    assert found is not None
    assert (found.by, found.reason, found.since) == ("ken", "it floods", app.clock.now())
    assert [kind for kind, *_ in desk.operations()] == ["pause"] * 3


def test_a_pause_is_lifted(desk: Desk) -> None:
    """JB-9"""
    desk.act("pause", queue="files")
    with pytest.raises(InvalidOption, match="it is paused already"):
        desk.act("pause", queue="files", by="mika")
    assert desk.act("resume", queue="files").kind == "resume"
    with desk.app.engine.begin() as connection:
        assert desk.read_pauses(connection) == []
    desk.act("pause", job="export")
    with pytest.raises(InvalidOption, match=r"it is not paused\. Paused: job export"):
        desk.act("resume", queue="files")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"queue": "flies"}, "no such queue. Known: default, files"),
        ({"queue": "other/files"}, "no such queue"),
        ({"job": "exprot"}, "Is export meant"),
        ({"job": "export", "queue": "files"}, "say one"),
        ({}, "say one"),
    ],
)
def test_a_pause_that_would_stop_nothing_is_refused(
    sqlite_copy: str, given: dict[str, str], told: str
) -> None:
    with application(sqlite_copy) as app, pytest.raises(InvalidOption, match=told):
        Desk(app).act("pause", **given)


def test_what_others_know_can_be_paused(sqlite_copy: str) -> None:
    """A queue that a worker serves, a queue and a job that rows are of."""
    with application(sqlite_copy) as app:
        desk = Desk(app)
        desk.worker(queues={"night": 1})
        desk.enqueue(desk.renamed)
        live = app.jobs_table.live
        with app.engine.begin() as connection:
            connection.execute(update(live).values(handler="elsewhere", stream="other/slow"))
        for given in ({"queue": "night"}, {"queue": "other/slow"}, {"job": "elsewhere"}):
            assert desk.act("pause", **given).done == 1


def test_a_resumed_job_goes_on(desk: Desk) -> None:
    """JB-9: what was held by the pause is ready again; what waits for its key stays held."""
    paused = [desk.enqueue(desk.export, MONDAY), desk.enqueue(desk.renamed)]
    for _ in range(2):
        desk.enqueue(desk.tenant, {"tenant": "acme"})
    desk.claim(desk.worker(), "todoke/default/tenant", 2)
    live = desk.app.jobs_table.live
    desk.act("pause", job="export")
    with desk.app.engine.begin() as connection:
        of_pause = live.c.message_id.in_(paused)
        connection.execute(update(live).where(of_pause).values(state="held"))
    assert desk.states() == ["held", "held", "held", "ready"]
    desk.act("resume", job="export")
    assert desk.get(paused[0]).status == "PENDING"
    held = {row.handler for row in desk.rows(live) if row.state == "held"}
    assert held == {"renamed", "tenant"}
    desk.app.drain()
    assert desk.done == ["monday"]


def test_what_was_held_after_the_end_of_a_pause_is_found(desk: Desk) -> None:
    """JB-9: by a worker that had not heard of it yet."""
    app, live = desk.app, desk.app.jobs_table.live
    desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.renamed)
    desk.enqueue(desk.tenant, {"tenant": "acme"})
    desk.act("pause", job="renamed")
    with app.engine.begin() as connection:
        connection.execute(update(live).values(state="held"))
        pauses = app.job_room.pauses
        assert pauses.ready_forgotten(connection, pauses.read(connection)) == 1
        assert pauses.ready_forgotten(connection, pauses.read(connection)) == 0
    ready = {row.handler for row in desk.rows(live) if row.state == "ready"}
    assert ready == {"export"}
