"""A process that stands still inside a transaction keeps its locks no longer than its lease."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import InternalError

from tests.application import application, letters, rows
from tests.waiting import until
from tests.work.running import quick_application, worker
from tests.work.stopped_worker import LEASE, SETTINGS, visit_job
from todoke import Todoke
from todoke.databases.postgres import Postgres
from todoke.testing import Clock

ROOT = Path(__file__).parents[2]
A_LITTLE = 10.0
"""Beyond the lease: a look for the dead, a suspect's lonely run, a machine that is busy."""
VISITS = [{"tenant": f"tenant-{number % 3}", "number": str(number)} for number in range(9)]


@pytest.fixture(params=["postgres_copy", "mariadb_copy"])
def server_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(request.param)
    return url


@contextmanager
def stopped_worker(app: Todoke, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process that stands still inside a claim."""
    module = "tests.work.stopped_worker"
    url = app.url.render_as_string(hide_password=False)
    process = subprocess.Popen([sys.executable, "-m", module, url, str(folder)], cwd=ROOT)
    try:
        until(lambda: _stands_still(process.pid), 60)
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def _stands_still(pid: int) -> bool:
    found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    assert not found or os.WIFSTOPPED(status), "it has ended instead"
    return bool(found)


def visits(folder: Path) -> list[tuple[str, int]]:
    """Which were made, and by which process."""
    lines = (folder / "visits").read_text().splitlines()
    return sorted((number, int(pid)) for number, pid in map(str.split, lines))


def test_others_take_what_a_stopped_process_had_locked_and_it_goes_on_when_woken(
    server_url: str, tmp_path: Path
) -> None:
    """OB-7 JB-9: within its lease and a little; what it had begun to claim it neither runs nor
    writes, and it works on."""
    numbers = [visit["number"] for visit in VISITS]
    with quick_application(server_url, **SETTINGS) as app:
        visit = visit_job(app, str(tmp_path))
        with app.session() as session:
            visit.enqueue_all(session, VISITS)
        with stopped_worker(app, tmp_path) as process:
            assert visits(tmp_path) == []
            with worker(app):
                try:
                    until(lambda: len(visits(tmp_path)) == len(VISITS), LEASE + A_LITTLE)
                finally:
                    process.send_signal(signal.SIGCONT)
            assert visits(tmp_path) == [(number, os.getpid()) for number in numbers]
            with app.session() as session:
                last = visit.enqueue(session, {"tenant": "tenant-0", "number": "last"})
            until(lambda: visits(tmp_path)[-1] == ("last", process.pid), 30)
            with app.session() as session:
                until(lambda: app.jobs.get(session, last).status == "PROCESSED")
        assert [row.attempt for row in rows(app, app.jobs_table.history)] == [1] * 10
        assert rows(app, app.jobs_table.live) == letters(app) == []
        with app.engine.connect() as connection:
            assert connection.execute(select(app.job_room.tables.key_slots)).all() == []


def test_a_connection_that_was_ended_for_being_idle_is_lost() -> None:
    """OB-7: also where the driver has not noticed its end yet."""
    told = psycopg.errors.IdleInTransactionSessionTimeout("terminating connection")
    database = Postgres(Clock(), None, "")
    assert database.is_lost(InternalError("COMMIT", None, told))


ASK = {
    "postgresql": "SELECT setting FROM pg_settings "
    "WHERE name = 'idle_in_transaction_session_timeout'",
    "mariadb": "SELECT @@idle_transaction_timeout",
}


@pytest.mark.parametrize(("lease", "seconds"), [("15s", 15), ("1500ms", 2), ("300ms", 1)])
def test_only_connections_of_agents_are_ended_when_idle(
    server_url: str, lease: str, seconds: int
) -> None:
    """OB-7: whole seconds, as long as the lease; a user's transaction may be idle for longer."""
    with application(server_url, settings={"lease.duration": lease}) as app:
        ask, unit = text(ASK[app.database.kind]), 1000 if app.database.kind == "postgresql" else 1
        with app.agents_engine.connect() as agents, app.engine.connect() as users:
            assert int(agents.execute(ask).scalar_one()) == seconds * unit
            assert int(users.execute(ask).scalar_one()) == 0


def test_nothing_is_set_on_a_session_that_a_pooler_shares(postgres_copy: str) -> None:
    """OB-7: it would end transactions of those who get the session next."""
    settings: dict[str, object] = {"database.prepare": False}
    with (
        application(postgres_copy, settings=settings) as app,
        app.agents_engine.connect() as connection,
    ):
        assert connection.execute(text(ASK["postgresql"])).scalar_one() == "0"
