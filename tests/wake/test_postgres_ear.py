"""The ear comes back after an outage, and says so when nothing can reach it."""

from __future__ import annotations

import logging
from time import perf_counter

import pytest
from sqlalchemy import make_url, text

from tests.application import Placed, application, publish
from tests.servers.place import free_port
from tests.servers.postgres import postgres_instance
from tests.waiting import until
from tests.wake.ringing import PLACED, Heard, listener, ringing_application
from todoke.bell import EVERYWHERE
from todoke.databases.bells import ear_for

DEAF = "WAKE-UPS DO NOT ARRIVE"


def test_an_ear_comes_back_with_its_server_and_says_everywhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """design 12: something may have been missed"""
    with (
        postgres_instance() as server,
        ringing_application(server.url()) as app,
        listener(app) as heard,
    ):
        server.stop_immediately()
        until(lambda: "the ear cannot reach" in caplog.text)
        server.start()
        until(lambda: EVERYWHERE in heard.rings, 30)
        app.engine.dispose()
        publish(app, Placed(order_id=1))
        until(lambda: PLACED in heard.rings, 30)
        assert heard.ear.works is True
    assert len([one for one in caplog.messages if "the ear cannot reach" in one]) == 1


def test_an_ear_whose_connection_was_ended_listens_again(postgres_database: str) -> None:
    """design 12"""
    with ringing_application(postgres_database) as app, listener(app) as heard:
        with app.engine.begin() as connection:
            connection.execute(
                text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'todoke ear'"
                )
            )
        until(lambda: EVERYWHERE in heard.rings)
        publish(app, Placed(order_id=1))
        until(lambda: PLACED in heard.rings)


def test_an_ear_stops_at_once(postgres_database: str) -> None:
    """design 12"""
    with ringing_application(postgres_database) as app, listener(app) as heard:
        started = perf_counter()
        heard.ear.stop()
        assert perf_counter() - started < 1


def test_an_ear_without_a_server_stops_at_once(postgres_database: str) -> None:
    """design 12"""
    nobody = make_url(postgres_database).set(port=free_port())
    heard = Heard()
    with application(postgres_database) as app:
        ear = ear_for(app.database, app.url, nobody, heard.note, gap=0.0, poll=1.0)
        ear.start()
        started = perf_counter()
        ear.stop()
        assert perf_counter() - started < 1


def test_an_ear_behind_a_transaction_pooler_says_that_it_hears_nothing(
    pgbouncer_database: str, postgres_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """design 12: and what to do"""
    with ringing_application(pgbouncer_database) as app, listener(app) as heard:
        assert heard.ear.works is False
    told = [one for one in caplog.records if DEAF in one.message]
    assert [one.levelno for one in told] == [logging.WARNING]
    for word in ("polling", "outbox.poll", "PgBouncer", "database.listen_url"):
        assert word in told[0].message


def test_with_a_straight_address_the_ear_hears_bells_behind_a_pooler(
    pgbouncer_database: str, postgres_database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """design 12"""
    with (
        ringing_application(pgbouncer_database) as app,
        listener(app, listen_url=postgres_database) as heard,
    ):
        assert heard.ear.works is True
        for number in range(20):
            publish(app, Placed(order_id=number))
            until(lambda: len(heard.rings) == number + 1)  # noqa: B023
    assert DEAF not in caplog.text


def test_many_rings_are_passed_on_together(postgres_database: str) -> None:
    """design 12: so that a worker does not look for each of them"""
    with ringing_application(postgres_database) as app, listener(app, gap=0.1) as heard:
        notify = text("SELECT pg_notify('todoke:todoke', :hint)")
        with app.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            for number in range(300):
                connection.execute(notify, {"hint": f"event:free:context-{number}/default"})
        until(lambda: len(EVERYWHERE.union(*heard.rings)) == 300)
        assert len(heard.rings) < 100
