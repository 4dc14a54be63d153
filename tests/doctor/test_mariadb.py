"""What `app.doctor()` finds on MariaDB, each provoked on a real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import pytest
from sqlalchemy import make_url, text

from tests.doctor.examining import administer, application, examined, one, session, value, verdicts
from tests.waiting import until
from todoke.databases.healths import health_of
from todoke.databases.mariadb_health import age, durability, history
from todoke.finding import Finding

CUSTOMER = "mika@example.com"


@pytest.fixture
def account(mariadb_copy: str) -> Iterator[str]:
    """The address for an account without any right beyond todoke's tables."""
    name, here = f"a{uuid.uuid4().hex[:20]}", make_url(mariadb_copy)
    administer(
        mariadb_copy,
        f"CREATE USER {name}@'127.0.0.1'",
        f"GRANT SELECT ON {here.database}.* TO {name}@'127.0.0.1'",
    )
    yield here.set(username=name).render_as_string()
    administer(mariadb_copy, f"DROP USER {name}@'127.0.0.1'")


@contextmanager
def server_setting(url: str, name: str, wanted: object) -> Iterator[None]:
    """Another value for the whole server, until the end."""
    before = value(url, f"SELECT @@global.{name}")
    administer(url, f"SET GLOBAL {name} = {wanted}")
    try:
        yield
    finally:
        administer(url, f"SET GLOBAL {name} = {before}")


@pytest.mark.parametrize("value", [0, 2])
def test_commits_that_are_not_flushed_are_bad(mariadb_copy: str, value: int) -> None:
    """reliability B40; the remedy mends it"""
    with server_setting(mariadb_copy, "innodb_flush_log_at_trx_commit", value):
        found = one("durability", examined(mariadb_copy))
        assert found.verdict == "bad"
        assert f"innodb_flush_log_at_trx_commit = {value}" in found.found
        administer(mariadb_copy, str(found.remedy).partition(";")[0])
        assert one("durability", examined(mariadb_copy)).verdict == "ok"


def test_the_binary_log_counts_where_there_is_one() -> None:
    """reliability B40; whether there is one cannot be changed while a server runs"""
    well = {"innodb_flush_log_at_trx_commit": "1", "innodb_doublewrite": "1", "sync_binlog": "0"}
    assert verdicts([*durability({**well, "log_bin": "0"})]) == {"ok"}
    (found,) = durability({**well, "log_bin": "1"})
    assert (found.verdict, "sync_binlog = 0" in found.found) == ("bad", True)
    (torn,) = durability({**well, "innodb_doublewrite": "0", "log_bin": "0"})
    assert (torn.verdict, "innodb_doublewrite = 0" in torn.found) == ("bad", True)


def test_an_open_transaction_is_named_with_what_ends_it(mariadb_copy: str) -> None:
    """reliability B25: thread and user; of its statement nothing but the first word"""
    with session(mariadb_copy) as other:
        thread = other.execute(text("SELECT CONNECTION_ID()")).scalar_one()
        other.execute(text(f"SELECT * FROM todoke_outbox WHERE `key` = '{CUSTOMER}' FOR UPDATE"))
        found = _any_transaction(mariadb_copy)
        assert found.verdict == "bad"
        assert f"thread {thread}, user root, Sleep" in found.found
        assert CUSTOMER not in str(found)
        assert one("transactions", examined(mariadb_copy)).verdict == "ok"
        administer(mariadb_copy, str(found.remedy))
        other.invalidate()
    assert _any_transaction(mariadb_copy).verdict == "ok"


def test_transactions_need_a_right(mariadb_copy: str, account: str) -> None:
    """OP-1: unknown, with the GRANT; with it they are seen, and nothing else was missed"""
    found = examined(account)
    not_ok = {one.check for one in found if one.verdict != "ok"}
    assert not_ok == {"transactions", "workers"}
    denied = one("transactions", found)
    assert denied.verdict == "unknown"
    assert denied.remedy == f"GRANT PROCESS ON *.* TO `{make_url(account).username}`@`127.0.0.1`;"
    administer(mariadb_copy, str(denied.remedy))
    assert one("transactions", examined(account)).verdict == "ok"


def test_old_versions_of_rows_are_counted(mariadb_copy: str) -> None:
    """reliability B25"""
    assert "wait to be purged" in one("purge", examined(mariadb_copy)).found
    assert [history(length).verdict for length in (99_999, 100_000, 1_000_000)] == [
        "ok",
        "warn",
        "bad",
    ]


def test_an_event_that_does_not_fit_is_bad(mariadb_copy: str) -> None:
    """OB-10: the server takes 64 MiB in one piece here"""
    large = {"payload.max_bytes": 64 * 1024 * 1024}
    found = one("limits", examined(mariadb_copy, settings=large))
    assert found.verdict == "bad"
    assert "max_allowed_packet = 67108864" in found.found
    assert "SET GLOBAL max_allowed_packet = 67174400;" in str(found.remedy)


@pytest.mark.parametrize("name", ["wait_timeout", "idle_transaction_timeout", "max_statement_time"])
def test_timeouts_that_would_cut_us_off_are_told(mariadb_copy: str, name: str) -> None:
    """reliability F8: shorter than a handler may take"""
    with server_setting(mariadb_copy, name, 599):
        found = one("limits", examined(mariadb_copy))
    assert found.verdict == "warn"
    assert found.found.startswith(f"{name} = 599 s")


def test_a_check_gives_up_soon(mariadb_copy: str) -> None:
    """OP-1: only while it is made: its connections go back to the application"""
    asked = text("SELECT @@session.max_statement_time")
    with application(mariadb_copy) as app, app.engine.connect() as connection:
        with health_of(app.database).examination(connection):
            assert connection.execute(asked).scalar_one() == 3
        assert connection.execute(asked).scalar_one() == 0


def test_a_server_that_takes_no_writes_is_bad(mariadb_copy: str) -> None:
    """OP-1"""
    with server_setting(mariadb_copy, "read_only", 1):
        found = one("server", examined(mariadb_copy))
    assert (found.verdict, "takes no writes" in found.found) == ("bad", True)


def test_an_old_server_is_bad() -> None:
    """design 3: SKIP LOCKED came with 10.6"""
    versions = ["10.5.29-MariaDB", "10.6.0-MariaDB", "11.4.2-MariaDB-log"]
    assert [age(version).verdict for version in versions] == ["bad", "ok", "ok"]


def test_more_connections_than_the_server_has_are_bad(mariadb_copy: str) -> None:
    """reliability F10"""
    settings = {"worker.threads": 40, "worker.processes": 4}
    found = one("connections", examined(mariadb_copy, settings=settings))
    assert found.verdict == "bad"
    assert "may open 224, 4 x 56 (handlers 46, agents 10)" in found.found
    assert "max_connections = 200" in found.found


def test_the_limit_of_the_account_counts(mariadb_copy: str, account: str) -> None:
    """reliability F10"""
    name = make_url(account).username
    limit = "WITH MAX_USER_CONNECTIONS 20"
    administer(mariadb_copy, f"ALTER USER {name}@'127.0.0.1' {limit}")
    found = one("connections", examined(account))
    assert (found.verdict, "max_user_connections = 20" in found.found) == ("bad", True)


def test_what_others_have_counts(mariadb_copy: str) -> None:
    """reliability F10: sessions in other databases here; those in ours are taken for ours"""
    elsewhere = make_url(mariadb_copy).set(database="mysql").render_as_string()
    before = _others(mariadb_copy)
    with session(elsewhere), session(mariadb_copy):
        assert _others(mariadb_copy) == before + 1


def test_workers_poll(mariadb_copy: str) -> None:
    """design 12: there is nothing to hear"""
    found = one("wake-up", examined(mariadb_copy))
    assert (found.verdict, "poll" in found.found) == ("ok", True)


def test_a_line_without_tls_is_bad_where_it_is_required(mariadb_copy: str) -> None:
    """MS-6"""
    assert one("tls", examined(mariadb_copy)).verdict == "ok"
    found = one("tls", examined(mariadb_copy, settings={"env": "prod"}))
    assert (found.verdict, "no TLS" in found.found) == ("bad", True)


def _any_transaction(url: str) -> Finding:
    """InnoDB looks anew only when nobody has asked for its transactions within 0.1 s."""
    since = monotonic()
    until(lambda: monotonic() - since > 0.15)
    return one("transactions", examined(url, long_transaction="0s"))


def _others(url: str) -> int:
    found = one("connections", examined(url)).found
    return int(found.partition("others have ")[2].partition(":")[0])
