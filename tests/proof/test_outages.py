"""What is outside goes away and comes back: nothing is lost, nothing storms, nobody helps."""

from __future__ import annotations

import smtplib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from email.message import EmailMessage
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import Table, func, select, text

from tests.counts import Counts
from tests.proof import parcels
from tests.proof.post_office import PostOffice
from tests.proof.workers import workers
from tests.servers.mariadb import MariaDbServer, mariadb_instance
from tests.servers.postgres import PostgresServer, postgres_instance
from tests.waiting import until
from tests.work.running import quick_application, worker
from todoke import Attempt, Backoff, Breaker, Event, Todoke
from todoke.runtime import Runtime

Record = Callable[[str, object], None]
Server = PostgresServer | MariaDbServer

TRICKLE = 0.02
AGENTS, PROCESSES = 5, 2
"""Of each process: worker, lease, two keepers, and an ear; the cleaner mostly rests."""


class MailDue(Event, ordered=False):
    number: int


@pytest.fixture
def post_office(tmp_path: Path) -> Iterator[PostOffice]:
    office = PostOffice(tmp_path)
    office.come_back()
    yield office
    office.go_away()


def test_a_mail_server_that_was_away_is_not_stormed_and_gets_every_mail(
    database_url: str, post_office: PostOffice, counts: Counts, record_property: Record
) -> None:
    """OB-15, ID-6: claims per second after the outage are at most twice those before it."""
    rest = "5s" if counts.away_seconds >= 60 else "500ms"
    window = min(10.0, counts.away_seconds / 3) + 2
    breaker, may_send = Breaker("smtp", failures=5, rest=rest), threading.Event()
    with _mailing(database_url, post_office, breaker, may_send) as app:
        _publish(app, 0, counts.due)
        with worker(app) as (runtime, _), _trickling(app, counts.due) as published:
            until(lambda: _unrelayed(app) < 20, 600)
            in_hand = runtime.counts["claimed"]
            may_send.set()
            until(lambda: runtime.counts["claimed"] > in_hand + 200, 60)
            # Twice: other tests may have the processors for a while.
            before = max(_claims_per_second(runtime, window) for _ in range(2))
            post_office.go_away()
            during = _claims_per_second(runtime, counts.away_seconds)
            post_office.come_back()
            after = _claims_per_second(runtime, window)
            left = _living(app)
            published.set()
            until(lambda: _living(app) == 0, 3_600)
        events, dead, taken = _settled_events(app), _dead(app), post_office.taken()
    record_property("due", counts.due)
    record_property("seconds away", counts.away_seconds)
    record_property("claims per second before", round(before))
    record_property("claims per second during", round(during))
    record_property("claims per second after", round(after))
    record_property("dead letters", dead)
    record_property("mails delivered", len(taken))
    record_property("delivered more than once", sum(times > 1 for times in taken.values()))
    record_property("left after it came back", left)
    assert left > 0, "too few were due to show anything"
    assert during <= 2 * before
    assert after <= 2 * before
    assert dead == 0
    assert len(taken) == events >= counts.due


@pytest.mark.parametrize("instance", [postgres_instance, mariadb_instance])
def test_workers_outlive_a_database_that_was_away(
    instance: Callable[[], AbstractContextManager[Server]],
    tmp_path: Path,
    counts: Counts,
    record_property: Record,
) -> None:
    """OB-4, OB-7: no process ends, the log tells it once, all is done when it is back."""
    with (
        instance() as server,
        server.database() as url,
        closing(parcels.build(url, str(tmp_path), {})) as app,
    ):
        app.migrate()
        _fill(app, counts.due)
        with workers(url, tmp_path, {}, "tests.proof.parcels") as band:
            for _ in range(PROCESSES):
                band.start()
            until(lambda: _noted(tmp_path) >= counts.due // 10, 600)
            tries = _away(server, tmp_path, counts.away_seconds)
            until(lambda: _living(app) == 0, 3_600)
            alive, deaths = len(band.alive), list(band.deaths)
            band.stop()
        booked, different = _booked(app)
        dead = _dead(app)
    told = _log_lines(tmp_path)
    record_property("due", counts.due)
    record_property("seconds away", counts.away_seconds)
    record_property("tries to connect per second", round(tries / counts.away_seconds, 1))
    record_property("log lines", len(told))
    record_property("booked", booked)
    assert (alive, deaths) == (PROCESSES, [])
    assert booked == different == counts.due
    assert dead == 0
    assert len(set((tmp_path / "noted").read_text().split())) == counts.due
    assert len(told) <= 2 * AGENTS * PROCESSES, told
    assert tries / counts.away_seconds <= 4 * AGENTS * PROCESSES


# --- mail ------------------------------------------------------------------------------------


@contextmanager
def _mailing(
    url: str, office: PostOffice, breaker: Breaker, may_send: threading.Event
) -> Iterator[Todoke]:
    with quick_application(url, **{"worker.threads": 8, "worker.queues.default": 8}) as app:

        @app.on(MailDue, breaker=breaker, retry=Backoff("100ms", "200ms"))
        def send(event: MailDue, attempt: Attempt) -> None:
            may_send.wait(300)
            mail = EmailMessage()
            mail["From"], mail["To"] = "shop@shop.example", "hanako@example.com"
            mail["Message-ID"] = f"<{attempt.idempotency_key}@shop.example>"
            mail.set_content(f"Number {event.number} is on its way.")
            with smtplib.SMTP("127.0.0.1", office.port, "shop.example", timeout=10) as server:
                server.send_message(mail)

        yield app


def _publish(app: Todoke, first: int, count: int) -> None:
    for start in range(first, first + count, 1_000):
        numbers = range(start, min(start + 1_000, first + count))
        with app.session() as session:
            app.publish_all(session, [MailDue(number=number) for number in numbers])


@contextmanager
def _trickling(app: Todoke, first: int) -> Iterator[threading.Event]:
    """Goes on publishing, all the time, until the event is set."""
    over = threading.Event()

    def publish() -> None:
        number = first
        while not over.wait(TRICKLE):
            _publish(app, number, 1)
            number += 1

    publisher = threading.Thread(target=publish)
    publisher.start()
    try:
        yield over
    finally:
        over.set()
        publisher.join()


def _claims_per_second(runtime: Runtime, seconds: float) -> float:
    claimed, began = runtime.counts["claimed"], monotonic()
    threading.Event().wait(seconds)
    return (runtime.counts["claimed"] - claimed) / (monotonic() - began)


# --- the database ----------------------------------------------------------------------------


def _fill(app: Todoke, due: int) -> None:
    with app.engine.begin() as connection:
        connection.execute(text("CREATE TABLE booked (number INTEGER)"))
    for start in range(0, due, 1_000):
        with app.session() as session:
            numbers = range(start, min(start + 1_000, due))
            app.publish_all(session, [parcels.Parcel(number=number) for number in numbers])


def _away(server: Server, folder: Path, seconds: float) -> int:
    """Stop it for so long; answers how often somebody tried to connect meanwhile."""
    server.stop()
    before = (folder / "tries").stat().st_size
    threading.Event().wait(seconds)
    tries = (folder / "tries").stat().st_size - before
    server.start()
    return tries


def _noted(folder: Path) -> int:
    return (folder / "noted").read_bytes().count(b"\n")


def _booked(app: Todoke) -> tuple[int, int]:
    with app.session() as session:
        found = session.execute(text("SELECT count(*), count(DISTINCT number) FROM booked")).one()
    return int(found[0]), int(found[1])


def _log_lines(folder: Path) -> list[str]:
    """What the processes complained of, without the lines that go on with the one before."""
    lines = (folder / "worker.log").read_text().splitlines()
    return [line for line in lines if line.startswith(("ERROR:", "CRITICAL:"))]


# --- both ------------------------------------------------------------------------------------


def _living(app: Todoke) -> int:
    with app.session() as session:
        status = app.events.status(session)
    return status.pending + status.processing


def _unrelayed(app: Todoke) -> int:
    return _count(app, app.outbox_table.live)


def _settled_events(app: Todoke) -> int:
    return _count(app, app.outbox_table.history)


def _count(app: Todoke, table: Table) -> int:
    with app.session() as session:
        return int(session.execute(select(func.count()).select_from(table)).scalar_one())


def _dead(app: Todoke) -> int:
    with app.session() as session:
        return app.events.status(session).dead
