"""Why a job is not running: every reason is told, the most important first."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from sqlalchemy import update

from tests.application import application
from tests.jobs.desk import WHO, Desk, Export
from todoke import Breaker
from todoke.testing import Clock

MONDAY = Export(day="monday")
NARROW, TENANT, RARE = (f"todoke/default/{name}" for name in ("narrow", "tenant", "rare"))


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-01-01 09:00")


def change(desk: Desk, **values: object) -> None:
    """Rows as a worker would leave them."""
    with desk.app.engine.begin() as connection:
        connection.execute(update(desk.app.jobs_table.live).values(**values))


def test_all_is_well(desk: Desk) -> None:
    """JB-9: it is next, and how long that takes at most."""
    desk.worker()
    id = desk.enqueue(desk.export, MONDAY)
    told = "It is next: a worker should take it within 1.0 s."
    assert desk.why(id) == [told]
    assert desk.get(id).why_waiting == told
    with desk.app.session() as session:
        (listed,) = desk.app.jobs.list(session)
    assert listed.why_waiting is None  # a list tells obstacles only


def test_a_paused_queue_and_a_paused_job(desk: Desk, clock: Clock) -> None:
    """JB-9: by whom, since when, and why."""
    desk.worker()
    id, other = desk.enqueue(desk.renamed), desk.enqueue(desk.export, MONDAY)
    desk.act("pause", queue="files", reason="the disk is full")
    desk.act("pause", job="renamed", by="mika", reason="it floods.")
    clock.advance("3h")
    told = [
        "Queue files is paused by ken since 09:00:00 UTC: the disk is full.",
        "Job renamed is paused by mika since 09:00:00 UTC: it floods.",
    ]
    assert desk.why(id)[:2] == told
    assert desk.get(id).why_waiting == told[0]
    with desk.app.session() as session:
        listed = {one.id: one.why_waiting for one in desk.app.jobs.list(session)}
    assert listed[id] == told[0]
    assert not [one for one in desk.why(other) if "paused" in one]
    clock.advance("1d")
    assert "since 2026-01-01 09:00:00 UTC" in desk.why(id)[0]


def test_a_job_that_was_held_by_its_pause(desk: Desk) -> None:
    """JB-9: told as paused; after that it is readied soon."""
    desk.worker()
    id = desk.enqueue(desk.export, MONDAY)
    desk.act("pause", job="export")
    change(desk, state="held")
    assert desk.why(id) == ["Job export is paused by ken since 09:00:00 UTC: wrong day."]
    with desk.app.engine.begin() as connection:
        desk.app.job_room.pauses.lift(connection, "job", "export")
    assert desk.why(id) == ["It was held while its job was paused, and is readied within a minute."]


def test_nobody_works(desk: Desk, clock: Clock) -> None:
    """JB-9: no worker, none whose lease holds."""
    id = desk.enqueue(desk.export, MONDAY)
    told = "No worker is running. Start `todoke worker`."
    assert desk.why(id)[0] == told
    desk.worker(seconds=15)
    assert desk.why(id)[0] != told
    clock.advance("16s")
    assert desk.why(id)[0] == told


def test_nobody_serves_its_queue(desk: Desk) -> None:
    """JB-9: with the command that starts one."""
    desk.worker(queues={"default": 4})
    id = desk.enqueue(desk.renamed)
    assert desk.why(id) == [
        "No living worker serves queue files of context todoke. "
        "Start one: `todoke worker --queues files=4`."
    ]


def test_nobody_knows_the_job(desk: Desk) -> None:
    """JB-9: a release that has it is not there yet."""
    desk.worker("host:1", jobs={"fail": "todoke/default"})
    id = desk.enqueue(desk.export, MONDAY)
    assert desk.why(id)[0] == (
        "No living worker that serves queue default knows the job export: worker host:1 does "
        "not. Deploy a release that has it."
    )
    desk.worker("host:2", queues={"files": 1})
    assert "knows the job export" in desk.why(id)[0]  # it does, and serves another queue
    desk.worker("host:3", jobs={})
    assert "workers host:1, host:3 do not." in desk.why(id)[0]
    desk.worker("host:4")
    assert desk.why(id) == ["It is next: a worker should take it within 1.0 s."]


def test_it_is_to_run_later(desk: Desk, clock: Clock) -> None:
    """JB-9: when, and in how long."""
    desk.worker()
    id = desk.enqueue(desk.export, MONDAY, delay="5m")
    assert desk.why(id) == ["It is to run later: at 09:05:00 UTC, in 5 min."]
    clock.advance("5m")
    clock.advance("3s")
    assert desk.why(id) == ["It has been due for 3.0 s, and no worker has noticed yet."]


def test_it_waits_for_its_next_attempt(desk: Desk) -> None:
    """JB-9: after which failure."""
    id = desk.enqueue(desk.fail, 1)
    desk.app.drain()
    desk.worker()
    assert desk.why(id) == [
        "Attempt 1 of 4 failed with BUSY; the next is due at 09:00:01 UTC, in 1.0 s."
    ]


def test_a_full_limit(desk: Desk, clock: Clock) -> None:
    """JB-9: who holds the slots, and for how long the longest has been running."""
    first, second = desk.worker("host:1"), desk.worker("host:2")
    for number in range(4):
        desk.enqueue(desk.narrow, number)
    bounds = desk.app.handlers.bounds["narrow"]
    for worker, name in ((first, "host:1"), (second, "host:2")):
        with desk.app.engine.begin() as connection:
            desk.app.destinations.destination(bounds).room(connection, worker, 1)
        (item,) = desk.claim(worker, NARROW)
        desk.runs(item, worker, name)
        clock.advance("3m")
    (longest,) = [row for row in desk.rows(desk.app.jobs_table.live) if row.owner == first]
    id = newest(desk)
    assert desk.why(id) == [
        "narrow is full, at most 2 at once: worker host:1 holds 1, worker host:2 holds 1; "
        f"narrow {longest.message_id} has been running for 6 min.",
        "1 job of its queue comes before it, being more urgent or earlier.",
    ]


def test_many_holders_are_not_all_named(desk: Desk) -> None:
    id = desk.enqueue(desk.narrow, 1)
    holders = [desk.worker(f"host:{number}") for number in range(5)]
    key_slots = desk.app.job_room.tables.key_slots
    slots = desk.app.metadata.tables[key_slots.fullname.replace("key_slots", "slots")]
    with desk.app.engine.begin() as connection:
        for number, owner in enumerate(holders):
            row = slots.insert().values(destination="narrow", number=number, owner=owner)
            connection.execute(row)
    assert desk.why(id)[0].endswith("worker host:2 holds 1, 2 other workers hold the rest.")


def test_a_rate_that_is_used_up(desk: Desk, clock: Clock) -> None:
    """JB-9: when the next token comes."""
    desk.enqueue(desk.rare)
    desk.app.drain()
    desk.worker()
    id = desk.enqueue(desk.rare)
    assert desk.why(id) == [
        "rare may be called 1 per 60.0 s: the next time at 09:01:00 UTC, in 60.0 s."
    ]
    clock.advance("45s")
    assert desk.why(id) == [
        "rare may be called 1 per 60.0 s: the next time at 09:01:00 UTC, in 15.0 s."
    ]
    clock.advance("15s")
    assert "It is next" in desk.why(id)[0]


def test_a_destination_that_rests(desk: Desk, clock: Clock) -> None:
    """JB-9: until when."""
    app = desk.app

    @app.job(breaker=Breaker("psp", failures=1, rest="30s"))
    def pay(number: int) -> None:
        raise TimeoutError

    desk.enqueue(pay, 1)
    app.drain()
    desk.worker()
    id = desk.enqueue(pay, 2)
    assert desk.why(id)[0] == (
        "psp failed too often in a row: nothing is called there until 09:00:30 UTC, for another "
        "30.0 s."
    )
    clock.advance("30s")
    assert desk.why(id)[0].startswith("psp failed too often in a row: one call tries it")


def test_a_full_key(desk: Desk, clock: Clock) -> None:
    """JB-9: it is held until the other of its key has ended; other keys are not concerned."""
    worker = desk.worker()
    first = desk.enqueue(desk.tenant, {"tenant": "acme"})
    id = desk.enqueue(desk.tenant, {"tenant": "acme"})
    (item,) = desk.claim(worker, TENANT, 2)
    desk.runs(item, worker, "host:1")
    clock.advance("2s")
    assert desk.states() == ["held", "ready"]
    told = (
        "Its key is full, at most 1 at once: worker host:1 holds 1; "
        f"tenant {first} has been running for 2.0 s."
    )
    assert desk.why(id) == [told]
    change(desk, state="ready")
    assert desk.why(id) == [told]
    other = desk.enqueue(desk.tenant, {"tenant": "other"})
    assert not [one for one in desk.why(other) if "key" in one]
    slots = desk.app.job_room.tables.key_slots
    with desk.app.engine.begin() as connection:
        connection.execute(slots.delete())
    change(desk, state="held")
    assert desk.why(id) == [
        "It waited for a slot of its key, which is free again: it is readied within a minute."
    ]


def test_a_suspect_waits_to_run_alone(desk: Desk) -> None:
    """JB-9: after its worker died."""
    desk.worker()
    id = desk.enqueue(desk.export, MONDAY)
    change(desk, state="suspect")
    assert re.match("It was in a worker's hands when that died: it runs alone", desk.why(id)[0])


def test_a_busy_queue(desk: Desk, clock: Clock) -> None:
    """JB-9: all places are taken, and what has been running longest."""
    worker = desk.worker(queues={"default": 2})
    ids = [desk.enqueue(desk.export, MONDAY) for _ in range(3)]
    for item in desk.claim(worker, count=2):
        desk.runs(item, worker, "host:1")
    clock.advance("2m")
    assert desk.why(ids[2]) == [
        "All 2 places of queue default are taken, in worker host:1; "
        f"export {ids[0]} has been running for 2 min."
    ]
    desk.worker("host:2", queues={"default": 1})
    assert "It is next" in desk.why(ids[2])[0]


def test_those_before_it_are_counted(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """JB-9: more urgent ones and earlier ones, and not to the end."""
    desk.worker()
    desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.renamed)
    desk.enqueue(desk.export, MONDAY, delay="1h")
    desk.enqueue(desk.export, MONDAY, priority=-1)
    id = desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.export, MONDAY)
    desk.enqueue(desk.export, MONDAY, priority=1)
    assert desk.why(id) == ["2 jobs of its queue come before it, being more urgent or earlier."]
    monkeypatch.setattr("todoke.jobs.surroundings.MOST_COUNTED", 1)
    monkeypatch.setattr("todoke.jobs.why.MOST_COUNTED", 1)
    assert desk.why(id)[0].startswith("More than 1 jobs of its queue come before it")
    for _ in range(5):
        desk.enqueue(desk.export, MONDAY, priority=1)
    jobs = desk.app.jobs
    with desk.app.engine.begin() as connection:
        found = jobs._whereabouts.one(connection, id)
        assert found is not None
        assert jobs._surroundings.at(connection).before(found) == 2  # one more than is told


def test_a_job_that_is_switched_off(migrated_url: str) -> None:
    """JB-4: it will be skipped."""
    settings: dict[str, object] = {"jobs.enabled.export": False}
    with application(migrated_url, settings=settings) as app:
        desk = Desk(app)
        desk.worker()
        id = desk.enqueue(desk.export, MONDAY)
        told = "jobs.enabled.export is off here: a worker will record it as SKIPPED."
        assert desk.why(id)[0] == told


def test_an_argument_that_this_release_cannot_read(desk: Desk) -> None:
    """JB-9: which field, and nothing of what is in it."""
    desk.worker()
    id = desk.enqueue(desk.export, MONDAY)
    change(desk, body='{"day": 7, "mail": "mika@example.com"}')
    assert desk.why(id)[0] == (
        "Its argument cannot be read by this release: day: Input should be a valid string."
    )


def test_a_running_job(desk: Desk, clock: Clock) -> None:
    """JB-9: where, since when; and that somebody wants it to end."""
    id = desk.enqueue(desk.export, MONDAY)
    desk.claim(desk.worker(seconds=60))
    clock.advance("3s")
    runs = "It runs on worker host:1: attempt 1, since 09:00:00 UTC, for 3.0 s."
    assert desk.why(id) == [runs]
    assert desk.get(id).why_waiting is None
    desk.act("cancel", id)
    asked = "ken asked at 09:00:03 UTC to cancel it, which ends it: wrong day."
    assert desk.why(id) == [runs, asked]
    clock.advance("5m")
    assert desk.why(id)[2].startswith("That worker's lease has run out")


def test_what_has_ended(desk: Desk) -> None:
    """JB-9: how, and where more is told."""
    done, dead = desk.enqueue(desk.export, MONDAY), desk.enqueue(desk.refuse, 7)
    desk.app.drain()
    cancelled = desk.enqueue(desk.export, MONDAY)
    desk.act("cancel", cancelled)
    assert desk.why(done) == ["It was processed at 09:00:00 UTC."]
    assert desk.why(cancelled) == ["It was cancelled at 09:00:00 UTC: by ken: wrong day."]
    letters = desk.app.dead_letters
    with desk.app.session() as session:
        (letter,) = letters.list(session).items
    shows = f"`todoke dead-letters show {letter.id}`"
    given_up = "It was given up at 09:00:00 UTC: NO_NUMBER: no such number."
    assert desk.why(dead) == [f"{given_up} {shows}"]
    with desk.app.session() as session:
        letters.resolve(session, letters.where(), **WHO)
    assert desk.why(dead) == [f"{given_up} It was resolved. {shows}"]


def newest(desk: Desk) -> UUID:
    with desk.app.session() as session:
        return desk.app.jobs.list(session, limit=1)[0].id
