"""Jobs in a test's hands: what was enqueued, how it went, and time that passes at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from tests.testing import parcels
from tests.testing.parcels import (
    Carrier,
    Export,
    ask_carefully,
    ask_politely,
    call_carrier,
    copy_all,
    export,
    labelled,
    print_all,
    print_copy,
    print_label,
    tidy_up,
    wait_for_pickup,
)
from todoke import Job, Run, Settings, Todoke, chain
from todoke.errors import InvalidOption
from todoke.testing import Harness


@pytest.fixture(params=["throwaway", "postgres", "mariadb"])
def todoke(request: pytest.FixtureRequest) -> Iterator[Harness]:
    kind = request.param
    url = None if kind == "throwaway" else str(request.getfixturevalue(f"{kind}_copy"))
    with Harness(parcels.app, database=url, tables=parcels.tables) as harness:
        yield harness


@pytest.fixture
def here() -> Iterator[Harness]:
    """Where the database does not matter."""
    with Harness(parcels.app, tables=parcels.tables) as harness:
        yield harness


def enqueue(harness: Harness, job: Job[Any, Any], *arguments: Any, **options: Any) -> None:
    with harness.session() as session:
        if arguments:
            job.enqueue_all(session, arguments, **options)
        else:
            job.enqueue(session, **options)


# --- looking -----------------------------------------------------------------------------------


def test_waiting_done_and_dead_jobs_are_told_in_the_order_of_enqueueing(todoke: Harness) -> None:
    """JB-1 TS-1"""
    todoke.override(Carrier, Carrier(is_down=True))
    enqueue(todoke, call_carrier, 1)
    todoke.travel("2h")
    enqueue(todoke, print_label, 2)
    todoke.drain()
    enqueue(todoke, call_carrier, 3, delay="1d")
    enqueue(todoke, print_label, 4)
    assert [letter.name for letter in todoke.dead_letters()] == ["call-carrier"]
    assert todoke.enqueued(call_carrier) == [1, 3]
    assert todoke.enqueued(print_label) == [2, 4]
    assert todoke.enqueued(tidy_up) == []


def test_a_redriven_job_is_told_once_and_keeps_its_place(todoke: Harness) -> None:
    """JB-1 TS-1"""
    todoke.override(Carrier, Carrier(is_down=True))
    enqueue(todoke, call_carrier, 1)
    todoke.travel("2h")
    enqueue(todoke, call_carrier, 2)
    with todoke.session() as session:
        letters = todoke.app.dead_letters
        letters.redrive(session, letters.where(), by="mika", reason="they answer again")
    assert todoke.enqueued(call_carrier) == [1, 2]


def test_what_was_rolled_back_or_is_not_committed_is_not_told(todoke: Harness) -> None:
    """JB-1 TS-1"""
    with todoke.session() as session:
        print_label.enqueue(session, 1)
        session.flush()
        assert todoke.enqueued(print_label) == []
        session.rollback()
    todoke.assert_not_enqueued(print_label)


def test_a_job_is_told_under_the_name_it_had_before(here: Harness) -> None:
    """JB-1: a row of an older release is read as what it has become"""
    enqueue(here, export, Export(day="monday"))
    live = here.app.jobs_table.live
    with here.engine.begin() as connection:
        connection.execute(update(live).values(handler="ship-out", type="ship-out"))
    assert here.enqueued(export) == [Export(day="monday")]
    here.drain()
    assert [run.status for run in here.runs(export)] == ["SUCCEEDED"]


def test_a_job_is_found_by_its_argument_or_by_fields_of_it(here: Harness) -> None:
    """TS-1"""
    enqueue(here, export, Export(day="monday"), Export(day="tuesday", carrier="sagawa"))
    enqueue(here, print_label, 7)
    enqueue(here, tidy_up)
    assert here.assert_enqueued(export, day="tuesday").carrier == "sagawa"
    assert here.assert_enqueued(export, Export(day="monday")).day == "monday"
    assert here.assert_enqueued(export, times=2).day == "tuesday"
    assert here.assert_enqueued(print_label, 7) == 7
    assert here.assert_enqueued(tidy_up) is None
    here.assert_not_enqueued(export, day="monday", carrier="sagawa")
    here.assert_not_enqueued(print_label, 8)


def test_a_failure_shows_what_was_enqueued_instead(here: Harness) -> None:
    """TS-1"""
    enqueue(here, export, Export(day="monday"))
    enqueue(here, tidy_up)
    with pytest.raises(AssertionError) as told:
        here.assert_enqueued(export, day="tuesday")
    assert str(told.value).splitlines() == [
        "export(day='tuesday'): expected 1, enqueued 0. Enqueued were:",
        "  export(Export(day='monday', carrier='yamato'))",
        "  tidy-up()",
    ]
    with pytest.raises(AssertionError, match=r"print-label\(7\): expected 1, enqueued 0"):
        here.assert_enqueued(print_label, 7)
    with pytest.raises(AssertionError, match="expected 2, enqueued 1"):
        here.assert_enqueued(export, times=2)
    with pytest.raises(AssertionError, match=r"tidy-up\(\): expected none, enqueued 1"):
        here.assert_not_enqueued(tidy_up)


def test_nothing_at_all_is_said_so(here: Harness) -> None:
    """TS-1"""
    with pytest.raises(AssertionError, match="Nothing was enqueued, or it is not committed"):
        here.assert_enqueued(tidy_up)


def test_what_could_never_fit_is_refused(here: Harness) -> None:
    """TS-1: a test for its absence would pass for ever"""
    with pytest.raises(InvalidOption, match="Known: day, carrier"):
        here.assert_not_enqueued(export, weekday="monday")
    with pytest.raises(InvalidOption, match="give the argument itself"):
        here.assert_not_enqueued(print_label, parcel=1)
    with pytest.raises(InvalidOption, match="assert_not_enqueued"):
        here.assert_enqueued(print_label, times=0)


def test_a_job_of_another_application_is_refused(here: Harness) -> None:
    """TS-1"""
    other = Todoke(settings=Settings({"name": "other"}, environment={}))

    @other.job(name="export")
    def namesake(day: str) -> None: ...

    with pytest.raises(InvalidOption, match="no job of this application"):
        here.enqueued(namesake)


def test_each_attempt_is_told(todoke: Harness) -> None:
    """JB-5"""
    todoke.override(Carrier, Carrier(is_down=True))
    enqueue(todoke, call_carrier, 1)
    enqueue(todoke, export, Export(day="monday"))
    todoke.travel("10s")
    assert [(run.status, run.attempt, run.error_code) for run in todoke.runs(call_carrier)] == [
        ("FAILED", 1, "CONNECTION_REFUSED_ERROR"),
        ("FAILED", 2, "CONNECTION_REFUSED_ERROR"),
    ]
    (run,) = todoke.runs(export)
    assert (run.result, run.processed, run.metrics) == ('"monday.csv"', 3, {"bytes": 12.5})
    assert todoke.results(export) == ["monday.csv"]
    assert todoke.results(call_carrier) == []


def test_the_story_tells_of_jobs_too(todoke: Harness) -> None:
    """TS-1"""
    todoke.override(Carrier, Carrier(is_down=True))
    enqueue(todoke, call_carrier, 1)
    enqueue(todoke, print_label, 2)
    todoke.drain()
    enqueue(todoke, export, Export(day="x" * 100))
    enqueue(todoke, tidy_up)
    assert todoke.story().splitlines()[1:] == [
        "PENDING    job call-carrier(1), attempt 1: CONNECTION_REFUSED_ERROR: nobody answers",
        "PROCESSED  job print-label(2), attempt 1",
        f'PENDING    job export({{"carrier":"yamato","day":"{"x" * 53}…)',
        "PENDING    job tidy-up()",
    ]


# --- time ----------------------------------------------------------------------------------------


def test_time_stops_where_something_becomes_due(todoke: Harness) -> None:
    """TS-3: delays, waits between attempts, snoozes"""
    carrier = todoke.override(Carrier, Carrier())
    enqueue(todoke, wait_for_pickup, 1, delay="2d")
    enqueue(todoke, tidy_up, delay="180d")
    todoke.travel("365d")
    assert carrier.calls == [
        "01-03 00:00:00",
        "01-03 06:00:00",
        "01-03 12:00:00",
        "01-03 18:00:00",
        "06-30 00:00:00",
    ]
    assert f"{todoke.clock.now():%Y-%m-%d}" == "2027-01-01"


def test_what_is_due_at_the_very_end_is_done_and_what_is_due_later_waits(todoke: Harness) -> None:
    """TS-3"""
    enqueue(todoke, print_label, 1, delay="1h")
    enqueue(todoke, print_label, 2, delay="61m")
    todoke.travel("1h")
    assert labelled(todoke) == [1]
    todoke.travel("1m")
    assert labelled(todoke) == [1, 2]


def test_a_rate_is_kept_on_the_way(todoke: Harness) -> None:
    """TS-3 JB-9"""
    carrier = todoke.override(Carrier, Carrier())
    enqueue(todoke, ask_politely, *range(5))
    todoke.travel("1h")
    assert carrier.calls == [
        *["01-01 00:00:00"] * 2,
        "01-01 00:00:30",
        "01-01 00:01:00",
        "01-01 00:01:30",
    ]


def test_a_destination_that_rests_is_tried_when_it_has_rested(todoke: Harness) -> None:
    """TS-3 JB-9"""
    carrier = todoke.override(Carrier, Carrier(is_down=True))
    enqueue(todoke, ask_carefully, 1)
    todoke.travel("1m")
    carrier.is_down = False
    todoke.travel("1h")
    assert carrier.calls == ["01-01 00:00:00", "01-01 00:05:00"]


async def test_time_passes_in_async_code_too(todoke: Harness) -> None:
    """TS-3"""
    async with todoke.async_session() as session:
        print_copy.enqueue(session, 1, delay="30d")
    await todoke.atravel("31d")
    assert labelled(todoke) == [1]


@pytest.fixture(params=["throwaway", "postgres", "mariadb"])
def nightly(request: pytest.FixtureRequest) -> Iterator[tuple[Harness, list[str]]]:
    """An application with a schedule, and the due times its job was called for."""
    app = Todoke(settings=Settings({"name": "nightly"}, environment={}))
    called: list[str] = []

    @app.job()
    def sweep(run: Run) -> None:
        assert run.tick is not None
        assert run.tick.due == app.clock.now()
        called.append(f"{run.tick.due:%m-%d %H:%M}")

    app.schedule(sweep, cron="0 1 * * *", tz="Asia/Tokyo")
    kind = request.param
    url = None if kind == "throwaway" else str(request.getfixturevalue(f"{kind}_copy"))
    with Harness(app, database=url) as harness:
        yield harness, called


def test_a_schedule_is_lived_through_tick_by_tick(nightly: tuple[Harness, list[str]]) -> None:
    """JB-2 TS-3: none is missed, and none is late"""
    todoke, called = nightly
    start = todoke.clock.now()
    todoke.travel("31d")
    previewed = todoke.app.schedules.between("sweep", start, todoke.clock.now())
    assert called == [f"{due.at:%m-%d %H:%M}" for due in previewed]
    assert (len(called), called[0], called[-1]) == (31, "01-01 16:00", "01-31 16:00")


def test_each_tick_is_there_once_though_the_worker_dies_on_the_way(
    nightly: tuple[Harness, list[str]],
) -> None:
    """JB-2 TS-2: after each death it goes on where it was"""
    todoke, called = nightly
    with todoke.crash("tick.before_commit", times=2):
        todoke.travel("3d")
    with todoke.crash("handler.before_start"):
        todoke.travel("3d")
    todoke.travel("2d")
    assert called == ["01-01 16:00", "01-02 16:00", "01-03 16:00"]


# --- crashes -------------------------------------------------------------------------------------

IN_SESSION = [
    "claim.after_commit",
    "handler.before_start",
    "handler.after_guard",
    "handler.after_call",
    "handler.before_commit",
    "handler.after_commit",
]


@pytest.mark.parametrize("point", IN_SESSION)
@pytest.mark.parametrize("job", [print_label, print_copy])
def test_a_session_s_effect_is_there_once_wherever_the_worker_died(
    todoke: Harness, point: str, job: Job[int, None]
) -> None:
    """JB-1 TS-2"""
    enqueue(todoke, job, 1)
    with todoke.crash(point):
        todoke.drain()
    todoke.drain()
    assert (labelled(todoke), todoke.dead_letters()) == ([1], [])


@pytest.mark.parametrize("point", ["chunk.before_commit", "chunk.after_commit"])
@pytest.mark.parametrize("job", [print_all, copy_all])
def test_each_chunk_is_done_once_wherever_the_worker_died(
    todoke: Harness, point: str, job: Job[None, None]
) -> None:
    """JB-10 TS-2: and the next worker goes on behind the last chunk"""
    enqueue(todoke, job)
    with todoke.crash(point, times=2):
        todoke.drain()
    todoke.drain()
    assert labelled(todoke) == list(range(10))
    assert [run.status for run in todoke.runs(job)][-1:] == ["SUCCEEDED"]


def test_what_follows_is_enqueued_once_though_the_worker_died(todoke: Harness) -> None:
    """JB-3 TS-2"""
    with todoke.session() as session:
        todoke.app.enqueue(session, chain(print_label.bind(1), print_copy.bind(2)))
    with todoke.crash("job.before_follower"):
        todoke.drain()
    todoke.assert_not_enqueued(print_copy)
    todoke.drain()
    assert (todoke.enqueued(print_copy), labelled(todoke)) == ([2], [1, 2])


def test_enqueueing_can_die_too(todoke: Harness) -> None:
    """JB-1 TS-2"""
    with todoke.crash("enqueue.after_insert"):
        enqueue(todoke, print_label, 1)
    todoke.assert_not_enqueued(print_label)
