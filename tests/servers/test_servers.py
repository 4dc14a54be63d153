"""The servers of the tests answer, and come back after they were stopped."""

from __future__ import annotations

from sqlalchemy import NullPool, create_engine, text

from tests.servers.mariadb import mariadb_instance
from tests.servers.pgbouncer import pgbouncer_instance
from tests.servers.postgres import PostgresServer, postgres_instance


def test_a_postgresql_can_be_stopped_and_started_again() -> None:
    with postgres_instance() as server, server.database() as url:
        keep(url)
        server.stop()
        server.start()
        assert kept(url) == 1
        server.stop_immediately()
        server.start()
        assert kept(url) == 1


def test_a_mariadb_can_be_stopped_and_started_again() -> None:
    with mariadb_instance() as server, server.database() as url:
        keep(url)
        server.stop()
        server.start()
        assert kept(url) == 1
        server.stop_immediately()
        server.start()
        assert kept(url) == 1


def test_a_pgbouncer_can_be_stopped_and_started_again(postgres_server: PostgresServer) -> None:
    with pgbouncer_instance(postgres_server) as server:
        assert answer(server.url(), "SELECT 1") == 1
        server.stop()
        server.start()
        assert answer(server.url(), "SELECT 1") == 1


def test_a_pgbouncer_hands_over_transactions(pgbouncer_database: str) -> None:
    engine = create_engine(pgbouncer_database, poolclass=NullPool)
    with engine.connect() as one, engine.connect() as other:
        first = one.scalar(text("SELECT pg_backend_pid()"))
        one.commit()
        second = other.scalar(text("SELECT pg_backend_pid()"))
    assert first == second


def keep(url: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE kept (number INTEGER)"))
        connection.execute(text("INSERT INTO kept VALUES (1)"))


def kept(url: str) -> object:
    return answer(url, "SELECT count(*) FROM kept")


def answer(url: str, question: str) -> object:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return connection.scalar(text(question))
