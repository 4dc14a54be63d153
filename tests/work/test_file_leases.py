"""On SQLite a lease is a locked file: the kernel tells of a death at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from tests.application import application
from tests.waiting import until
from tests.work import lease_holder
from todoke import Todoke
from todoke.clock import SystemClock
from todoke.runtime import Runtime
from todoke.work.lease import FileLeases, RowLeases


@pytest.fixture
def app(sqlite_copy: str) -> Iterator[Todoke]:
    settings: dict[str, object] = {"lease.duration": "1s"}
    with application(sqlite_copy, clock=SystemClock(), settings=settings) as app:
        yield app


@contextmanager
def holder(app: Todoke) -> Iterator[tuple[subprocess.Popen[str], UUID]]:
    """A real process with a lease, and the id it has it under."""
    command = [sys.executable, lease_holder.__file__, str(app.url)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process, UUID(process.stdout.readline().strip())
        finally:
            process.kill()


def alive(app: Todoke, leases: RowLeases) -> list[UUID]:
    with app.engine.begin() as connection:
        return list(leases.living(connection))


def expired(app: Todoke, leases: RowLeases) -> list[UUID]:
    with app.engine.begin() as connection:
        return leases.expired(connection)


def test_a_sqlite_file_has_its_leases_beside_it(app: Todoke, tmp_path: Path) -> None:
    """OB-7"""
    with holder(app) as (_, worker):
        assert isinstance(Runtime(app).leases, FileLeases)
        assert (tmp_path / "todoke.db-workers" / f"{worker}.lease").is_file()
        assert alive(app, Runtime(app).leases) == [worker]


def test_a_killed_process_is_known_dead_at_once(app: Todoke) -> None:
    """OB-7"""
    leases = Runtime(app).leases
    with holder(app) as (process, worker):
        process.kill()
        process.wait()
        assert (alive(app, leases), expired(app, leases)) == ([], [worker])


def test_a_stopped_process_is_known_dead_when_its_lease_ran_out(app: Todoke) -> None:
    """OB-7"""
    leases = Runtime(app).leases
    with holder(app) as (process, worker):
        os.kill(process.pid, signal.SIGSTOP)
        assert alive(app, leases) == [worker]
        until(lambda: expired(app, leases) == [worker])


def test_a_process_that_wakes_up_after_its_lease_starts_under_a_new_id(app: Todoke) -> None:
    """OB-7"""
    leases = Runtime(app).leases
    with holder(app) as (process, worker):
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: expired(app, leases) == [worker])
        with app.engine.begin() as connection:
            leases.deregister(connection, worker)
        os.kill(process.pid, signal.SIGCONT)
        until(lambda: alive(app, leases))
        assert worker not in alive(app, leases)


def test_leaving_removes_the_file(app: Todoke, tmp_path: Path) -> None:
    """OB-7"""
    membership = Runtime(app).membership
    with app.engine.connect() as connection:
        membership.join(connection)
        membership.leave(connection)
    assert list((tmp_path / "todoke.db-workers").iterdir()) == []


def test_a_renewal_does_not_wait_for_a_handler_that_writes(app: Todoke) -> None:
    """OB-7: the only write lock may be held for as long as a handler takes"""
    membership = Runtime(app).membership
    with app.engine.connect() as connection, app.engine.connect() as writer:
        connection.exec_driver_sql("PRAGMA busy_timeout=0")
        connection.rollback()
        membership.join(connection)
        with writer.begin():
            membership.tick(connection)
        membership.leave(connection)
