"""MariaDB for `todoke doctor`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from todoke.databases.mariadb import code_of
from todoke.databases.transport_security import Line, judged
from todoke.finding import Finding, bad, by_size, lasting, ok, warn

_DENIED = {1044, 1142, 1227}
_OLDEST = (10, 6)
_LONG_HISTORY = 100_000
_ENVELOPE = 64 * 1024
"""What a row has beside its body."""
_PROCESS = "GRANT PROCESS ON *.* TO {account};"

_ACCOUNT = text("SELECT CURRENT_USER()")
_LIMIT = text("SELECT @@session.max_statement_time")
_SET_LIMIT = text("SET SESSION max_statement_time = :seconds")
_SERVER = text("SELECT VERSION() AS version, @@global.read_only AS read_only")
_DURABLE_VALUES = text(
    "SELECT @@global.innodb_flush_log_at_trx_commit AS innodb_flush_log_at_trx_commit, "
    "@@global.innodb_doublewrite AS innodb_doublewrite, @@global.sync_binlog AS sync_binlog, "
    "@@global.log_bin AS log_bin"
)
_LIMITS = text(
    "SELECT @@session.max_allowed_packet AS max_allowed_packet, "
    "@@session.wait_timeout AS wait_timeout, "
    "@@session.idle_transaction_timeout AS idle_transaction_timeout, "
    "@@session.idle_write_transaction_timeout AS idle_write_transaction_timeout, "
    "@@global.max_statement_time AS max_statement_time"
)
# Sessions of our own account in this database are taken for ours.
_SESSIONS = text(
    "SELECT @@global.max_connections AS most, @@session.max_user_connections AS of_user, "
    "(SELECT variable_value FROM information_schema.global_status "
    "WHERE variable_name = 'Threads_connected') AS connected, "
    "(SELECT COUNT(*) FROM information_schema.processlist "
    "WHERE user = SUBSTRING_INDEX(USER(), '@', 1) AND db = DATABASE()) AS ours"
)
_TRANSACTIONS = text(
    "SELECT trx_mysql_thread_id AS thread, process.user AS user, process.command AS command, "
    "TIMESTAMPDIFF(MICROSECOND, trx_started, NOW(6)) / 1e6 AS seconds, "
    "UPPER(REGEXP_SUBSTR(trx_query, '^[[:space:]]*[A-Za-z]{1,20}')) AS word "
    "FROM information_schema.innodb_trx "
    "LEFT JOIN information_schema.processlist process ON process.id = trx_mysql_thread_id "
    "WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY trx_started"
)
_STATUS = text(
    "SELECT variable_value AS value FROM information_schema.global_status "
    "WHERE variable_name = :name"
)
_LINE = text(
    "SELECT variable_value AS version FROM information_schema.session_status "
    "WHERE variable_name = 'Ssl_version'"
)

_DURABLE = (
    rule(
        "innodb_flush_log_at_trx_commit",
        "1 3",
        "a crash of the machine loses events whose commit was acknowledged",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 1; and the same in my.cnf",
    ),
    rule(
        "innodb_doublewrite",
        "1 on",
        "a crash of the machine may leave torn pages",
        "Write innodb_doublewrite = ON into my.cnf and start the server anew.",
    ),
    rule(
        "sync_binlog",
        "1",
        "after a crash replicas and the binary log may differ from the server",
        "SET GLOBAL sync_binlog = 1; and the same in my.cnf",
    ),
)


class MariaDbHealth(Health):
    def __init__(self) -> None:
        self.checks: Sequence[Check] = (
            Check("server", _server),
            Check("durability", _durability),
            Check("limits", _limits),
            Check("transactions", _transactions, _PROCESS),
            Check("purge", _purge),
            Check("tls", _tls),
        )

    @contextmanager
    def examination(self, connection: Connection) -> Iterator[None]:
        with super().examination(connection):
            before = connection.execute(_LIMIT).scalar_one()
            connection.execute(_SET_LIMIT, {"seconds": STATEMENT_SECONDS})
            try:
                yield
            finally:
                # It belongs to the session, which others will use after us.
                if not connection.invalidated:
                    connection.execute(_SET_LIMIT, {"seconds": before})

    def account(self, connection: Connection) -> str:
        user, _, host = str(connection.execute(_ACCOUNT).scalar_one()).rpartition("@")
        return "@".join(f"`{part.replace('`', '``')}`" for part in (user, host))

    def is_denied(self, error: Exception) -> bool:
        return isinstance(error, DBAPIError) and code_of(error) in _DENIED

    def room(self, patient: Patient) -> Room:
        row = patient.row(_SESSIONS)
        limits = {f"max_connections = {row.most}": int(row.most)}
        if row.of_user:
            limits[f"max_user_connections = {row.of_user}"] = int(row.of_user)
        limit = min(limits, key=lambda one: limits[one])
        return Room(limits[limit], max(0, int(row.connected) - row.ours), limit)


def _server(patient: Patient) -> Iterator[Finding]:
    row = patient.row(_SERVER)
    if row.read_only:
        yield bad(
            "server",
            f"MariaDB {row.version}, which takes no writes: read_only = ON",
            "Let database.url lead to the primary, or SET GLOBAL read_only = OFF;",
        )
    else:
        yield age(row.version)


def age(version: str) -> Finding:
    found, numbers = f"MariaDB {version}", re.findall(r"\d+", version)
    if tuple(map(int, numbers[:2])) >= _OLDEST:
        return ok("server", found)
    return bad("server", f"{found} has no SKIP LOCKED", "Upgrade to MariaDB 10.6 or newer.")


def _durability(patient: Patient) -> Iterator[Finding]:
    row = patient.row(_DURABLE_VALUES)
    yield from durability({name: str(value) for name, value in row._mapping.items()})


def durability(values: dict[str, str]) -> Iterator[Finding]:
    """The binary log counts where there is one."""
    if values.pop("log_bin") == "0":
        del values["sync_binlog"]
    yield from by_rules("durability", _DURABLE, values)


def _limits(patient: Patient) -> Iterator[Finding]:
    values = {name: float(value) for name, value in patient.row(_LIMITS)._mapping.items()}
    packet = values.pop("max_allowed_packet")
    least = patient.settings.number("payload.max_bytes") + _ENVELOPE
    if packet < least:
        yield bad(
            "limits",
            f"max_allowed_packet = {packet:.0f}: an event of payload.max_bytes does not fit",
            f"SET GLOBAL max_allowed_packet = {-(-least // 1024) * 1024}; and the same in my.cnf",
        )
    handler = patient.settings.seconds("worker.timeout")
    short = [name for name, value in values.items() if 0 < value < handler]
    for name in short:
        yield warn(
            "limits",
            f"{name} = {values[name]:g} s: shorter than a handler may take, {handler:g} s",
            f"SET GLOBAL {name} = {handler:.0f}; and the same in my.cnf",
        )
    if packet >= least and not short:
        shown = {name: f"{value:g} s" for name, value in values.items()}
        yield ok("limits", told({"max_allowed_packet": f"{packet:.0f}", **shown}))


def _transactions(patient: Patient) -> Iterator[Finding]:
    limit = patient.long_transaction
    long = [row for row in patient.rows(_TRANSACTIONS) if row.seconds >= limit]
    yield from (_session(row, limit) for row in long)
    if not long:
        yield ok("transactions", f"none is open for {lasting(limit)} or longer")


def _session(row: Any, limit: float) -> Finding:
    seconds = float(row.seconds)
    state = f", {row.command}" if row.command else ""
    word = f", runs {row.word.strip()}" if row.word else ""
    return by_size(
        "transactions",
        seconds,
        limit,
        f"thread {row.thread}, user {row.user}{state}{word}: open for {lasting(seconds)}, "
        "keeps old versions of rows from being purged",
        f"KILL CONNECTION {row.thread};",
    )


def _purge(patient: Patient) -> Iterator[Finding]:
    yield history(int(patient.row(_STATUS, {"name": "Innodb_history_list_length"}).value))


def history(length: int) -> Finding:
    return by_size(
        "purge",
        length,
        _LONG_HISTORY,
        f"{length} transactions wait to be purged (history list length)",
        "End long transactions; if there are none, write innodb_purge_threads = 8 into my.cnf.",
    )


def _tls(patient: Patient) -> Iterator[Finding]:
    version = patient.row(_LINE).version or None
    is_local = "unix_socket" in patient.connection.engine.url.query
    remedy = "take ssl_disabled=true out of database.url and add ?ssl_ca=FILE"
    yield judged(Line(version, is_local), patient.settings, remedy)
