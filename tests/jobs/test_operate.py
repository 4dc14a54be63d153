"""What operators do with jobs: look, run, retry."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from tests.application import application, leases
from tests.jobs.desk import WHO, Desk, Export
from todoke.errors import InvalidArgument, InvalidOption, NotFound
from todoke.jobs.job import JobRef
from todoke.operate import JobOperation
from todoke.testing import Clock

MONDAY = Export(day="monday")


# --- looking ---------------------------------------------------------------------------------


def test_a_job_is_found_wherever_it_is(desk: Desk) -> None:
    """JB-1: waiting, running, processed, dead, cancelled."""
    done, dead = desk.enqueue(desk.export, MONDAY), desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    running = desk.enqueue(desk.export, MONDAY, priority=5)
    worker = desk.worker()
    (item,) = desk.claim(worker)
    desk.runs(item, worker, "host:1", processed=3, total=9)
    waiting = desk.enqueue(desk.export, Export(day="tuesday"), priority=-3, delay="5m")
    cancelled = desk.enqueue(desk.export, MONDAY)
    desk.act("cancel", cancelled)
    found = {id: desk.get(id) for id in (done, dead, running, waiting, cancelled)}
    assert [one.status for one in found.values()] == [
        "PROCESSED", "DEAD", "PROCESSING", "PENDING", "CANCELLED",
    ]  # fmt: skip
    assert (found[done].processed, found[done].total, found[done].attempts) == (2, 2, 1)
    assert found[done].settled_at == desk.app.clock.now()
    assert found[dead].error == "NO_NUMBER: no such number"
    assert (found[running].processed, found[running].total) == (3, 9)
    assert (found[running].worker, found[running].priority) == ("host:1", 5)
    one = found[waiting]
    assert (one.job, one.context, one.queue, one.priority) == ("export", "todoke", "default", -3)
    assert one.argument == '{"day":"tuesday","mail":"mika@example.com"}'
    assert one.scheduled_at == desk.app.clock.now() + timedelta(minutes=5)
    assert (one.attempts, one.max_attempts, one.worker, one.processed) == (0, 4, None, None)
    assert found[cancelled].note == "CANCELLED: by ken: wrong day"


def test_a_job_that_is_not_there(desk: Desk) -> None:
    id = uuid4()
    with pytest.raises(NotFound, match=f"No job {id}. `todoke jobs list`"):
        desk.get(id)


def test_a_ref_that_was_a_repeat_leads_to_the_first(desk: Desk) -> None:
    """JB-9: unique jobs."""
    first = desk.enqueue(desk.export, MONDAY, unique="k")
    with desk.app.session() as session:
        again = desk.export.enqueue(session, MONDAY, unique="k")
        early = JobRef[str](again.id, again.job, again.unique)
        assert desk.app.jobs.get(session, early).id == first
    with desk.app.session() as session:
        assert again.existed
        record = desk.app.jobs.get(session, again)
        assert (record.id, record.unique) == (first, "k")


def test_jobs_are_listed_newest_first(desk: Desk) -> None:
    """JB-1: with filters by status, name and queue."""
    desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    desk.enqueue(desk.renamed)
    desk.enqueue(desk.narrow, 1)
    desk.act("cancel", desk.enqueue(desk.export, MONDAY))

    def listed(**filters: Any) -> list[tuple[str, str]]:
        with desk.app.session() as session:
            found = desk.app.jobs.list(session, **filters)
        return [(one.job, one.status) for one in found]

    assert listed() == [
        ("export", "CANCELLED"),
        ("narrow", "PENDING"),
        ("renamed", "PENDING"),
        ("refuse", "DEAD"),
        ("export", "PROCESSED"),
    ]
    assert listed(limit=2) == [("export", "CANCELLED"), ("narrow", "PENDING")]
    assert listed(status="PROCESSED") == [("export", "PROCESSED")]
    assert listed(status="CANCELLED") == [("export", "CANCELLED")]
    assert listed(status="DEAD") == [("refuse", "DEAD")]
    assert listed(status="PENDING", queue="files") == [("renamed", "PENDING")]
    assert listed(status="PROCESSING") == []
    assert listed(queue="todoke/files") == [("renamed", "PENDING")]
    assert listed(queue="other/files") == []
    assert len(listed(queue="default")) == 4
    assert listed(queue="narrow") == []  # a destination is no queue
    assert len(listed(job="export")) == 2
    with pytest.raises(InvalidOption, match="PENDING, PROCESSING, PROCESSED, DEAD, CANCELLED"):
        listed(status="SENT")


def test_a_name_leads_to_those_it_had_before(desk: Desk) -> None:
    id = desk.enqueue(desk.renamed)
    live = desk.app.jobs_table.live
    with desk.app.engine.begin() as connection:
        connection.execute(update(live).values(handler="old-name"))
        (found,) = desk.app.jobs.list(connection, job="renamed")
    assert (found.id, found.job) == (id, "old-name")


def test_runs_tell_what_was_said(desk: Desk) -> None:
    """JB-5"""
    id = desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.fail, 1)
    desk.app.drain()
    with desk.app.session() as session:
        (run,) = desk.app.jobs.runs(session, id=id)
        (failed,) = desk.app.jobs.runs(session, job="fail")
        assert len(desk.app.jobs.runs(session)) == 2
        assert len(desk.app.jobs.runs(session, limit=1)) == 1
    assert (run.job, run.status, run.attempt, run.env) == ("export", "SUCCEEDED", 1, "dev")
    assert (run.processed, run.total, run.metrics) == (2, 2, {"bytes": 12.5})
    assert (run.log, run.result) == (["INFO told you"], '"monday"')
    assert run.finished_at == desk.app.clock.now()
    assert (failed.status, failed.error_code, failed.metrics, failed.log) == (
        "FAILED", "BUSY", {}, [],
    )  # fmt: skip
    assert "TransientError" in (failed.error_traceback or "")


def test_a_job_that_runs_again_has_done_nothing_yet(desk: Desk, clock: Clock) -> None:
    """JB-5: the progress of its last attempt is not its own."""
    id, worker = desk.enqueue(desk.fail, 1), desk.worker()
    desk.app.drain()
    runs = desk.app.job_room.tables.runs
    with desk.app.engine.begin() as connection:
        connection.execute(update(runs).values(processed=5, worker_name="elsewhere:1"))
    desk.act("retry", id)
    (item,) = desk.claim(worker)
    assert (desk.get(id).worker, desk.get(id).processed, desk.get(id).attempts) == (
        "host:1", None, 2,
    )  # fmt: skip
    clock.advance("1s")
    desk.runs(item, worker, "host:1", processed=1)
    assert desk.get(id).processed == 1


def test_figures_by_queue_and_job(desk: Desk, clock: Clock) -> None:
    """JB-9"""
    desk.enqueue(desk.export, MONDAY, priority=1)
    desk.claim(desk.worker())
    desk.enqueue(desk.export, MONDAY)
    clock.advance("90s")
    desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.export, MONDAY, delay="1h")
    desk.enqueue(desk.renamed)
    desk.act("pause", queue="files")
    with desk.app.session() as session:
        export, renamed = desk.app.jobs.status(session)
    assert (export.context, export.queue, export.job) == ("todoke", "default", "export")
    assert (export.ready, export.later, export.held, export.running) == (2, 1, 0, 1)
    assert (export.oldest, export.paused) == (timedelta(seconds=90), None)
    assert (renamed.ready, renamed.paused) == (1, "by ken: wrong day")


def test_a_worker_that_left_has_no_name_any_more(desk: Desk) -> None:
    """Its job is still told to be in its hands, until it is rescued."""
    id, worker = desk.enqueue(desk.export, MONDAY), desk.worker()
    desk.claim(worker)
    with desk.app.engine.begin() as connection:
        leases(desk.app).deregister(connection, worker)
    assert (desk.get(id).status, desk.get(id).worker) == ("PROCESSING", None)


async def test_everything_takes_async_handles(desk: Desk) -> None:
    async with desk.app.async_session() as session:
        ran = await desk.app.jobs.run(session, "export", '{"day":"monday"}', **WHO)
        assert (await desk.app.jobs.get(session, ran.job)).status == "PENDING"
        assert (await desk.app.jobs.cancel(session, ran.job, **WHO)).done == 1
        assert [one.status for one in await desk.app.jobs.list(session)] == ["CANCELLED"]


# --- running by hand -------------------------------------------------------------------------


def test_a_job_is_run_by_its_name(desk: Desk) -> None:
    """JB-1: manual run."""
    done = desk.act("run", "export", '{"day": "monday"}', priority=3, queue="files")
    assert done == JobOperation(1, "run", 1, 1, done.job)
    record = desk.get(done.job)
    assert (record.status, record.priority, record.queue) == ("PENDING", 3, "files")
    desk.act("run", "rare", delay="10s")
    desk.app.drain()
    assert desk.done == []  # queue files is served by nobody here, the other waits
    desk.act("run", "export", '{"day": "tuesday"}')
    desk.app.drain()
    assert desk.done == ["tuesday"]
    assert desk.operations() == [("run", 1, "ken", "wrong day")] * 3


@pytest.mark.parametrize(
    ("job", "argument", "told"),
    [
        ("export", None, "it takes an argument"),
        ("export", '{"day": 1}', "day: Input should be a valid string"),
        ("export", '{"day": "a", "day": "b"}', "stands twice"),
        ("export", "{", "no strict JSON"),
        ("rare", "1", "it takes no argument"),
    ],
)
def test_an_argument_that_does_not_fit_is_refused(
    sqlite_copy: str, job: str, argument: str | None, told: str
) -> None:
    with application(sqlite_copy) as app:
        desk = Desk(app)
        with pytest.raises(InvalidArgument, match=told):
            desk.act("run", job, argument)
        assert desk.states() == []
        assert desk.operations() == []


def test_a_job_that_nobody_knows_is_refused(sqlite_copy: str) -> None:
    with application(sqlite_copy) as app:
        desk = Desk(app)
        with pytest.raises(InvalidOption, match="Is export meant"):
            desk.act("run", "exprot")
        with pytest.raises(InvalidOption, match="Known: export, fail"):
            desk.act("run", "zzz")


@pytest.mark.parametrize("verb", ["run", "retry", "cancel", "cancel_all", "pause", "resume"])
def test_acts_want_an_author_and_a_reason(sqlite_copy: str, verb: str) -> None:
    with application(sqlite_copy) as app:
        desk = Desk(app)
        needs: dict[str, list[Any]] = {"run": ["export"], "retry": [uuid4()], "cancel": [uuid4()]}
        given = needs.get(verb, [])
        with pytest.raises(InvalidOption, match="say who"):
            desk.act(verb, *given, by=" ")
        with pytest.raises(InvalidOption, match="say why"):
            desk.act(verb, *given, reason="")


# --- retry -----------------------------------------------------------------------------------


def test_a_dead_job_is_redriven(desk: Desk) -> None:
    """JB-1: manual re-run."""
    id = desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    desk.done.append(7)
    assert desk.act("retry", id) == JobOperation(1, "retry", 1, 1, id)
    with desk.app.session() as session:
        assert [one.status for one in desk.app.jobs.list(session)] == ["PENDING"]
    desk.app.drain()
    assert desk.get(id).status == "PROCESSED"
    assert desk.operations() == [("redrive", 1, "ken", "wrong day")]


def test_the_next_attempt_is_made_now(desk: Desk) -> None:
    """JB-1: nobody waits for the time it was put off to."""
    id = desk.enqueue(desk.fail, 1)
    desk.app.drain()
    assert (desk.get(id).attempts, desk.states()) == (1, ["later"])
    assert desk.act("retry", id) == JobOperation(1, "retry", 1, 1, id)
    assert desk.states() == ["ready"]
    desk.app.drain()
    assert desk.get(id).attempts == 2


def test_what_has_ended_is_run_again_as_a_new_job(desk: Desk) -> None:
    """JB-1"""
    done = desk.enqueue(desk.export, MONDAY, priority=4, unique="k")
    desk.app.drain()
    cancelled = desk.enqueue(desk.export, Export(day="tuesday"))
    desk.act("cancel", cancelled)
    for id in (done, cancelled):
        again = desk.act("retry", id)
        assert again.job not in (done, cancelled)
        record = desk.get(again.job)
        assert (record.argument, record.unique) == (desk.get(id).argument, None)
        assert record.priority == desk.get(id).priority
    desk.app.drain()
    assert desk.done == ["monday", "monday", "tuesday"]
    assert desk.get(done).status == "PROCESSED"


def test_a_resolved_letter_is_run_again_as_a_new_job(desk: Desk) -> None:
    id = desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    with desk.app.session() as session:
        desk.app.dead_letters.resolve(session, desk.app.dead_letters.where(), **WHO)
    again = desk.act("retry", id)
    assert again.job != id
    assert desk.get(id).status == "DEAD"
    assert desk.get(again.job).status == "PENDING"


def test_a_job_with_a_key_is_counted_by_it_again(desk: Desk) -> None:
    """JB-9: the limit per key holds for it, too."""
    id = desk.enqueue(desk.tenant, {"tenant": "acme"})
    desk.app.drain()
    desk.act("retry", id)
    (row,) = desk.rows(desk.app.jobs_table.live)
    (before,) = desk.rows(desk.app.jobs_table.history)
    assert (row.key, row.stream) == ("acme", before.stream)
    assert row.strand != 0


def test_a_job_that_this_process_does_not_know_is_run_again_as_it_was(desk: Desk) -> None:
    id = desk.enqueue(desk.renamed)
    desk.act("cancel", id)
    history = desk.app.jobs_table.history
    with desk.app.engine.begin() as connection:
        connection.execute(update(history).values(handler="elsewhere", stream="other/files"))
    again = desk.act("retry", id)
    assert (desk.get(again.job).job, desk.get(again.job).queue) == ("elsewhere", "files")


def test_what_cannot_be_retried_is_refused(desk: Desk) -> None:
    id = desk.enqueue(desk.export, MONDAY)
    with pytest.raises(InvalidOption, match=r"waits already.*todoke jobs why"):
        desk.act("retry", id)
    desk.claim(desk.worker())
    with pytest.raises(InvalidOption, match="it is running"):
        desk.act("retry", id)
    assert desk.operations() == []
