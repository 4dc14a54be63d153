"""What `app.doctor()` finds on PostgreSQL, each provoked on a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncSession

from tests.application import Placed
from tests.doctor.examining import (
    administer,
    application,
    examined,
    of,
    one,
    session,
    value,
    verdicts,
)
from tests.waiting import until
from todoke.databases.health import Room
from todoke.databases.healths import health_of
from todoke.databases.postgres_health import age
from todoke.databases.postgres_horizon import is_lagging
from todoke.doctor.connections import judged
from todoke.finding import by_size

CUSTOMER = "mika@example.com"


@pytest.fixture
def role(postgres_copy: str) -> Iterator[str]:
    """A role without any right beyond todoke's tables."""
    name = f"app_{uuid.uuid4().hex}"
    administer(
        postgres_copy,
        f"CREATE ROLE {name} LOGIN",
        f"GRANT USAGE ON SCHEMA todoke TO {name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA todoke TO {name}",
    )
    yield name
    administer(postgres_copy, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def as_role(url: str, role: str) -> str:
    return make_url(url).set(username=role).render_as_string()


def threads(count: int) -> dict[str, object]:
    return {"worker.threads": count, "worker.processes": 4}


def database_of(url: str) -> str:
    return str(make_url(url).database)


def test_commits_that_are_not_flushed_are_bad(postgres_copy: str, role: str) -> None:
    """reliability B40: as our sessions see it, whoever said it"""
    administer(postgres_copy, f"ALTER ROLE {role} SET synchronous_commit = off")
    found = one("durability", examined(as_role(postgres_copy, role)))
    assert found.verdict == "bad"
    assert "synchronous_commit = off" in found.found
    assert f"ALTER ROLE {role} RESET synchronous_commit;" in str(found.remedy)
    assert one("durability", examined(postgres_copy)).verdict == "ok"


def test_the_remedy_for_durability_mends_it(postgres_copy: str) -> None:
    """reliability B40"""
    name = database_of(postgres_copy)
    administer(postgres_copy, f"ALTER DATABASE {name} SET synchronous_commit = off")
    found = one("durability", examined(postgres_copy))
    assert found.verdict == "bad"
    statement = f"ALTER DATABASE {name} RESET synchronous_commit"
    assert statement in str(found.remedy)
    administer(postgres_copy, statement)
    assert one("durability", examined(postgres_copy)).verdict == "ok"


def test_an_open_transaction_is_named_with_what_ends_it(postgres_copy: str) -> None:
    """reliability B25: pid, role, application and state; of its statement only the first word"""
    with session(postgres_copy) as other:
        other.execution_options(isolation_level="REPEATABLE READ")
        other.execute(text("SET application_name = 'reports'"))
        pid = other.execute(text("SELECT pg_backend_pid()")).scalar_one()
        other.execute(text(f"SELECT count(*) FROM todoke.outbox WHERE key = '{CUSTOMER}'"))
        found = one("transactions", examined(postgres_copy, long_transaction="0s"))
        assert found.verdict == "bad"
        for word in (f"pid {pid}", "role postgres", "reports", "idle in transaction", "SELECT"):
            assert word in found.found
        assert "keeps the dead rows of" in found.found
        assert CUSTOMER not in str(found)
        assert one("transactions", examined(postgres_copy)).verdict == "ok"
        administer(postgres_copy, str(found.remedy))
        other.invalidate()
    assert one("transactions", examined(postgres_copy, long_transaction="0s")).verdict == "ok"


def test_a_transaction_that_holds_no_rows_back_is_a_warning(postgres_copy: str) -> None:
    """reliability B25: between its statements READ COMMITTED sees nothing old"""
    with session(postgres_copy) as other:
        other.execute(text("SELECT count(*) FROM todoke.outbox"))
        found = one("transactions", examined(postgres_copy, long_transaction="0s"))
    assert (found.verdict, "may hold locks" in found.found) == ("warn", True)


@pytest.mark.parametrize(("seconds", "verdict"), [(59, "ok"), (60, "warn"), (600, "bad")])
def test_ten_times_too_long_is_bad(seconds: float, verdict: str) -> None:
    """reliability B25"""
    assert by_size("transactions", seconds, 60, "", "").verdict == verdict


def test_a_prepared_transaction_is_named(postgres_copy: str) -> None:
    """reliability B25: it outlives its session"""
    with session(postgres_copy) as other:
        other.execute(text("CREATE TABLE it (id int)"))
        other.execute(text("PREPARE TRANSACTION 'it''s mine'"))
    found = one("transactions", examined(postgres_copy, long_transaction="0s"))
    assert found.verdict == "bad"
    assert "prepared transaction it's mine" in found.found
    administer(postgres_copy, str(found.remedy).partition(";")[0])
    assert one("transactions", examined(postgres_copy, long_transaction="0s")).verdict == "ok"


def test_transactions_of_others_need_a_right(postgres_copy: str, role: str) -> None:
    """OP-1: unknown, with the GRANT; with it they are seen"""
    ours = as_role(postgres_copy, role)
    with session(postgres_copy) as other:
        other.execute(text("SELECT count(*) FROM todoke.outbox"))
        found = one("transactions", examined(ours, long_transaction="0s"))
        assert found.verdict == "unknown"
        assert found.remedy == f"GRANT pg_read_all_stats TO {role};"
        administer(postgres_copy, str(found.remedy))
        assert one("transactions", examined(ours, long_transaction="0s")).verdict == "warn"


def test_a_role_without_rights_is_told_all_else(postgres_copy: str, role: str) -> None:
    """OP-1: the check that cannot be made breaks no other"""
    found = examined(as_role(postgres_copy, role))
    assert {one.check for one in found if one.verdict != "ok"} == {"transactions", "workers"}


def test_tables_that_may_not_be_read_are_unknown(postgres_copy: str, role: str) -> None:
    """OP-1"""
    administer(postgres_copy, f"REVOKE SELECT ON todoke.outbox FROM {role}")
    found = examined(as_role(postgres_copy, role))
    assert one("backlog", found).verdict == "unknown"
    assert one("clock", found).verdict == "ok"


def test_a_slot_without_a_reader_is_named(postgres_copy: str) -> None:
    """reliability B25: what is left behind when a connector is taken away"""
    name = f"slot_{uuid.uuid4().hex}"
    administer(postgres_copy, f"SELECT pg_create_logical_replication_slot('{name}', 'pgoutput')")
    try:
        found = one("slots", examined(postgres_copy))
        assert found.verdict == "warn"
        assert name in found.found
        administer(postgres_copy, str(found.remedy).partition("or ")[2])
        assert one("slots", examined(postgres_copy)).verdict == "ok"
    finally:
        drop = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots"
        administer(postgres_copy, f"{drop} WHERE slot_name = '{name}'")


def test_a_slot_that_is_far_behind_is_told() -> None:
    """reliability B25: one with a reader holds back what the reader still sees"""
    assert not is_lagging(True, None)
    assert not is_lagging(True, 999_999)
    assert is_lagging(True, 1_000_000)
    assert is_lagging(False, None)


@pytest.mark.parametrize(
    ("setting", "check"),
    [("autovacuum", "vacuum"), ("track_counts", "vacuum"), ("full_page_writes", "durability")],
)
def test_a_setting_of_the_server_that_does_harm_is_bad(
    postgres_copy: str, setting: str, check: str
) -> None:
    """reliability B25 B40; the remedy mends it"""
    administer(postgres_copy, f"ALTER SYSTEM SET {setting} = off", "SELECT pg_reload_conf()")
    try:
        until(lambda: value(postgres_copy, f"SHOW {setting}") == "off")
        found = of(check, examined(postgres_copy))[0]
        assert (found.verdict, found.found.startswith(f"{setting} = off")) == ("bad", True)
        administer(postgres_copy, *filter(None, str(found.remedy).split("; ")))
        until(lambda: value(postgres_copy, f"SHOW {setting}") == "on")
        assert verdicts(of(check, examined(postgres_copy))) == {"ok"}
    finally:
        administer(postgres_copy, f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")


def test_a_table_without_autovacuum_is_bad(postgres_copy: str) -> None:
    """reliability B25"""
    administer(postgres_copy, "ALTER TABLE todoke.outbox SET (autovacuum_enabled = off)")
    inbox, jobs, outbox = of("vacuum", examined(postgres_copy))
    assert (inbox.verdict, jobs.verdict, outbox.verdict) == ("ok", "ok", "bad")
    assert "todoke.outbox" in outbox.found
    administer(postgres_copy, str(outbox.remedy))
    assert verdicts(of("vacuum", examined(postgres_copy))) == {"ok"}


def test_many_dead_rows_are_told(postgres_copy: str) -> None:
    """reliability B25"""
    administer(
        postgres_copy,
        "ALTER TABLE todoke.outbox SET (autovacuum_vacuum_threshold = 1000000)",
        "INSERT INTO todoke.outbox (message_id, context, type, aggregate, key, body, created_at, "
        "scheduled_at, updated_at) SELECT gen_random_uuid(), 'a', 'b', 'c', 'd', '{}', now(), "
        "now(), now() FROM generate_series(1, 20000)",
        "DELETE FROM todoke.outbox",
        "SELECT pg_stat_force_next_flush()",
    )
    found = of("vacuum", examined(postgres_copy))[2]
    assert found.verdict == "warn"
    assert "20000 dead rows, 0 living, never vacuumed" in found.found
    administer(postgres_copy, str(found.remedy))
    assert "0 dead rows, 0 living, vacuumed" in of("vacuum", examined(postgres_copy))[2].found


@pytest.mark.parametrize(
    ("setting", "short", "enough"),
    [
        ("statement_timeout", "4s", "5s"),
        ("lock_timeout", "4s", "5s"),
        ("idle_in_transaction_session_timeout", "9min", "10min"),
        ("transaction_timeout", "9min", "10min"),
    ],
)
def test_timeouts_that_would_cut_us_off_are_told(
    postgres_copy: str, setting: str, short: str, enough: str
) -> None:
    """reliability F8: those our sessions begin with, not those of the examination"""
    name = database_of(postgres_copy)
    administer(postgres_copy, f"ALTER DATABASE {name} SET {setting} = '{short}'")
    found = one("limits", examined(postgres_copy))
    assert found.verdict == "warn"
    assert found.found.startswith(f"{setting} = ")
    assert "ALTER ROLE postgres SET" in str(found.remedy)
    administer(postgres_copy, f"ALTER DATABASE {name} SET {setting} = '{enough}'")
    assert one("limits", examined(postgres_copy)).verdict == "ok"


def test_a_database_that_takes_no_writes_is_bad(postgres_copy: str) -> None:
    """OP-1: a standby says the same"""
    name = database_of(postgres_copy)
    administer(postgres_copy, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    found = one("server", examined(postgres_copy))
    assert found.verdict == "bad"
    assert "takes no writes" in found.found
    administer(
        postgres_copy,
        "SET default_transaction_read_only = off",
        f"ALTER DATABASE {name} RESET default_transaction_read_only",
    )


def test_an_old_server_is_told() -> None:
    """OP-1"""
    assert age(180006, "PostgreSQL 18.6").verdict == "ok"
    assert age(130022, "PostgreSQL 13.22").verdict == "warn"


def test_more_connections_than_the_server_has_are_bad(postgres_copy: str) -> None:
    """reliability F10: per process, times the processes"""
    (few,) = of("connections", examined(postgres_copy, settings=threads(30)))
    assert few.verdict == "ok"
    assert "may open 192, 4 x 48 (handlers 36, agents 10, ear and bell 2)" in few.found
    (many,) = of("connections", examined(postgres_copy, settings=threads(40)))
    assert many.verdict == "bad"
    assert "may open 232" in many.found
    assert "max_connections = 200, 3 reserved" in many.found


def test_behind_a_pooler_its_own_limits_count(postgres_copy: str) -> None:
    """reliability F10: they cannot be seen, so it is only a warning"""
    pooled = {**threads(40), "database.listen_url": postgres_copy}
    found = one("connections", examined(postgres_copy, settings=pooled))
    assert (found.verdict, "behind a pooler its limits count" in found.found) == ("warn", True)


def test_async_handlers_need_connections_of_their_own(postgres_copy: str) -> None:
    """reliability F10"""
    with application(postgres_copy) as app:

        @app.on(Placed)
        async def note(event: Placed, session: AsyncSession) -> None: ...

        assert "async handlers 26" in one("connections", app.doctor()).found


def test_what_others_have_counts_while_they_have_it(postgres_copy: str) -> None:
    """reliability F10: our own sessions are not counted twice"""
    with session(postgres_copy) as other:
        other.execute(text("SET application_name = 'reports'"))
        others = int(
            value(
                postgres_copy,
                "SELECT count(*) - 1 FROM pg_stat_activity WHERE backend_type = 'client backend'",
            )
        )
        with application(postgres_copy) as app, app.engine.connect():
            assert f"others have {others}:" in one("connections", app.doctor()).found
    assert judged({"handlers": 60}, 1, Room(100, 41, "max_connections = 100")).verdict == "warn"


def test_the_limit_of_the_role_counts(postgres_copy: str, role: str) -> None:
    """reliability F10"""
    administer(postgres_copy, f"ALTER ROLE {role} CONNECTION LIMIT 20")
    found = one("connections", examined(as_role(postgres_copy, role)))
    assert found.verdict == "bad"
    assert "CONNECTION LIMIT 20 of the role" in found.found


def test_the_bell_is_heard(postgres_copy: str) -> None:
    """reliability B22: and how long that takes"""
    found = one("wake-up", examined(postgres_copy))
    assert found.verdict == "ok"
    assert found.found.startswith("a NOTIFY is heard after ")


def test_behind_a_pooler_the_bell_is_not_heard(
    pgbouncer_database: str, postgres_database: str
) -> None:
    """reliability B22: with a straight address it is"""
    with application(postgres_database) as app:
        app.migrate()
    pooled = {"database.prepare": False}
    found = examined(pgbouncer_database, settings=pooled)
    assert one("wake-up", found).verdict == "warn"
    assert "database.listen_url" in str(one("wake-up", found).remedy)
    assert verdicts([one for one in found if one.check not in ("wake-up", "workers")]) == {"ok"}
    listening = {**pooled, "database.listen_url": postgres_database}
    straight = examined(pgbouncer_database, settings=listening)
    assert one("wake-up", straight).verdict == "ok"


def test_an_address_that_leads_nowhere_is_told(postgres_copy: str) -> None:
    """reliability B22"""
    for address in ("postgresql://127.0.0.1:1/x", "nonsense"):
        found = one("wake-up", examined(postgres_copy, settings={"database.listen_url": address}))
        assert found.verdict == "warn"
        assert found.remedy == "Correct database.listen_url."


@pytest.mark.parametrize(
    ("settings", "verdict", "word"),
    [
        ({}, "ok", "not required"),
        ({"env": "prod"}, "bad", "TLSv1.3 is required"),
        ({"database.require_tls": True}, "bad", "TLSv1.3 is required"),
        ({"env": "prod", "database.require_tls": False}, "warn", "gives it up"),
    ],
)
def test_a_line_without_tls(
    postgres_copy: str, settings: dict[str, object], verdict: str, word: str
) -> None:
    """MS-6: bad where it is required, told where that was given up"""
    found = one("tls", examined(postgres_copy, settings=settings))
    assert (found.verdict, "no TLS" in found.found, word in found.found) == (verdict, True, True)


def test_a_locked_table_is_not_waited_for(postgres_copy: str) -> None:
    """OP-1: safe on a database that is sick"""
    with session(postgres_copy) as other:
        other.execute(text("LOCK TABLE todoke.outbox IN ACCESS EXCLUSIVE MODE"))
        found = examined(postgres_copy)
    assert one("backlog", found).verdict == "unknown"
    assert "lock timeout" in one("backlog", found).found
    assert one("durability", found).verdict == "ok"


def test_a_check_gives_up_soon_and_cannot_write(postgres_copy: str) -> None:
    """OP-1: only while it is made"""
    names = ("statement_timeout", "lock_timeout", "transaction_read_only")
    asked = text("SELECT " + ", ".join(f"current_setting('{name}')" for name in names))
    with application(postgres_copy) as app, app.engine.connect() as connection:
        with health_of(app.database).examination(connection):
            assert connection.execute(asked).one() == ("3s", "500ms", "on")
        assert connection.execute(asked).one() == ("0", "0", "off")
