"""PostgreSQL for `todoke doctor`: version, durability, sessions, time-outs, TLS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from todoke.databases.health import (
    STATEMENT_SECONDS,
    Check,
    Health,
    Patient,
    Room,
    by_rules,
    rule,
    told,
)
from todoke.databases.postgres_horizon import READ_ALL, slots, transactions, vacuum
from todoke.databases.transport_security import Line, judged
from todoke.finding import Finding, bad, ok, warn

_DENIED = "42501"
_OLDEST = 140000
_LOCK_SECONDS = 0.5
_SHORT = 5.0
"""A statement of ours that takes so long is not lost, but should not be cut off either."""

_ACCOUNT = text("SELECT quote_ident(current_user)")
_HERE = text("SELECT quote_ident(current_database()) AS name")
_GUARD = text(
    "SELECT set_config('transaction_read_only', 'on', true), "
    "set_config('statement_timeout', :statement, true), "
    "set_config('lock_timeout', :lock, true)"
)
_SERVER = text(
    "SELECT current_setting('server_version_num')::int AS number, "
    "current_setting('server_version') AS version, "
    "pg_is_in_recovery() AS is_standby, "
    "(SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_read_only') AS read_only"
)
_SETTINGS = text("SELECT name, setting FROM pg_settings WHERE name = ANY(:names)")
# What a session begins with: our own time-outs are set for the transaction only.
_BEGUN_WITH = text("SELECT name, reset_val FROM pg_settings WHERE name = ANY(:names)")
_SESSIONS = text(
    "SELECT current_setting('max_connections')::int AS most, "
    "current_setting('superuser_reserved_connections')::int "
    "+ coalesce(current_setting('reserved_connections', true), '0')::int AS reserved, "
    # Without the right to see it, the type of others' sessions is null.
    "(SELECT count(*) FROM pg_stat_activity WHERE datid IS NOT NULL "
    "AND coalesce(backend_type, 'client backend') = 'client backend' "
    "AND application_name NOT LIKE 'todoke%') AS others, "
    "(SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS role_limit, "
    "(SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database_limit"
)
_LINE = text(
    "SELECT ssl, version, inet_client_addr() IS NULL AS is_local "
    "FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
)

_DURABLE = (
    rule(
        "fsync",
        "on",
        "a crash of the machine may destroy the whole database",
        "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();",
    ),
    rule(
        "synchronous_commit",
        "on remote_apply remote_write local",
        "a crash of the server loses events whose commit was acknowledged",
        "ALTER ROLE {account} RESET synchronous_commit; "
        "ALTER DATABASE {database} RESET synchronous_commit; if postgresql.conf says it: "
        "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf();",
    ),
    rule(
        "full_page_writes",
        "on",
        "a crash of the machine may leave torn pages",
        "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();",
    ),
)


@dataclass(frozen=True, slots=True)
class _Timeout:
    harm: str
    least: float | None = None
    """None is as long as a handler may take."""


_TIMEOUTS = {
    "statement_timeout": _Timeout("it cuts off todoke's own statements on a busy day", _SHORT),
    "lock_timeout": _Timeout("publishers to one key wait for each other's commits", _SHORT),
    "idle_in_transaction_session_timeout": _Timeout(
        "a handler that computes or calls out for longer loses its session"
    ),
    "transaction_timeout": _Timeout("a handler with a session that takes longer never ends well"),
}


class PostgresHealth(Health):
    def __init__(self) -> None:
        self.checks: Sequence[Check] = (
            Check("server", _server),
            Check("durability", _durability),
            Check("limits", _limits),
            Check("transactions", transactions, READ_ALL),
            Check("slots", slots),
            Check("vacuum", vacuum, needs_tables=True),
            Check("tls", _tls),
        )

    @contextmanager
    def examination(self, connection: Connection) -> Iterator[None]:
        with super().examination(connection):
            limits = {
                "statement": f"{STATEMENT_SECONDS * 1000:.0f}",
                "lock": f"{_LOCK_SECONDS * 1000:.0f}",
            }
            connection.execute(_GUARD, limits)
            yield

    def account(self, connection: Connection) -> str:
        return str(connection.execute(_ACCOUNT).scalar_one())

    def is_denied(self, error: Exception) -> bool:
        return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", "") == _DENIED

    def room(self, patient: Patient) -> Room:
        row = patient.row(_SESSIONS)
        limits = {
            f"max_connections = {row.most}, {row.reserved} reserved": row.most - row.reserved,
            f"CONNECTION LIMIT {row.role_limit} of the role": row.role_limit,
            f"CONNECTION LIMIT {row.database_limit} of the database": row.database_limit,
        }
        # -1 is no limit.
        limit = min((one for one in limits if limits[one] >= 0), key=lambda one: limits[one])
        return Room(limits[limit], row.others, limit)


def _server(patient: Patient) -> Iterator[Finding]:
    row = patient.row(_SERVER)
    found = f"PostgreSQL {row.version}"
    if row.is_standby or row.read_only == "on":
        why = "a standby" if row.is_standby else "default_transaction_read_only = on"
        yield bad(
            "server",
            f"{found}, which takes no writes: {why}",
            "Let database.url lead to the primary: add ?target_session_attrs=read-write.",
        )
    else:
        yield age(row.number, found)


def age(number: int, found: str) -> Finding:
    if number >= _OLDEST:
        return ok("server", found)
    return warn("server", f"{found}, which todoke was never run on", "Upgrade to PostgreSQL 14.")


def _durability(patient: Patient) -> Iterator[Finding]:
    names = {"account": patient.account, "database": patient.row(_HERE).name}
    values = _values(patient, _SETTINGS, [one.name for one in _DURABLE])
    yield from by_rules("durability", [one.named(**names) for one in _DURABLE], values)


def _limits(patient: Patient) -> Iterator[Finding]:
    values = _values(patient, _BEGUN_WITH, _TIMEOUTS)
    handler = patient.settings.seconds("worker.timeout")
    short = [
        _short(name, value, least, patient.account)
        for name, value in values.items()
        if 0 < int(value) / 1000 < (least := _TIMEOUTS[name].least or handler)
    ]
    yield from short or [ok("limits", told(values))]


def _short(name: str, value: str, least: float, account: str) -> Finding:
    return warn(
        "limits",
        f"{name} = {value} ms: {_TIMEOUTS[name].harm}",
        f"ALTER ROLE {account} SET {name} = '{least:g}s';",
    )


def _tls(patient: Patient) -> Iterator[Finding]:
    row = patient.row(_LINE)
    driver = patient.connection.connection.driver_connection
    # Behind a pooler the server's line ends there; ours is what our own driver says.
    ours = getattr(getattr(driver, "pgconn", None), "ssl_in_use", row.ssl)
    line = Line(row.version if row.ssl and ours else None, row.is_local, row.ssl != ours)
    yield judged(line, patient.settings, "add ?sslmode=verify-full to database.url")


def _values(patient: Patient, statement: Any, names: Iterable[str]) -> dict[str, str]:
    """In the order of the names; those that this release does not have are left out."""
    found = {row[0]: row[1] for row in patient.rows(statement, {"names": list(names)})}
    return {name: found[name] for name in names if name in found}
