"""PostgreSQL for `todoke doctor`: what keeps dead rows from being removed.

Each message leaves dead rows behind. They can be removed once no transaction can see them any
more; one that stays open makes every claim read all that died since. So sessions are named. Of
what they run only the first word is shown: the rest may hold personal data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import text

from todoke.databases.health import Patient
from todoke.finding import Finding, bad, by_size, lasting, ok, unknown, warn

READ_ALL = "GRANT pg_read_all_stats TO {account};"

_MOST_DEAD = 20_000
_FAR_BEHIND = 1_000_000

_SEES_ALL = text("SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE') AS sees_all")
# The horizon of a table is that of its own database.
_SESSIONS = text(
    "SELECT pid, usename AS role, application_name AS application, state, "
    "extract(epoch FROM clock_timestamp() - xact_start)::float AS seconds, "
    "greatest(age(backend_xmin), age(backend_xid)) AS age, "
    "upper(substring(query FROM '^\\s*([A-Za-z]{1,20})')) AS word "
    "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND xact_start IS NOT NULL "
    "AND coalesce(backend_type, '') <> 'autovacuum worker' "
    "AND datname = current_database() "
    "AND (state LIKE 'idle in transaction%' OR backend_xmin IS NOT NULL "
    "OR backend_xid IS NOT NULL) "
    "ORDER BY xact_start"
)
_PREPARED = text(
    "SELECT gid, owner AS role, quote_literal(gid) AS quoted, "
    "extract(epoch FROM clock_timestamp() - prepared)::float AS seconds "
    "FROM pg_prepared_xacts WHERE database = current_database() ORDER BY prepared"
)
_SLOTS = text(
    "SELECT slot_name AS name, quote_literal(slot_name) AS quoted, slot_type AS kind, active, "
    "age(xmin) AS age FROM pg_replication_slots ORDER BY slot_name"
)
_VACUUM_SETTINGS = text(
    "SELECT current_setting('autovacuum') AS autovacuum, "
    "current_setting('track_counts') AS track_counts"
)
_TABLES = text(
    "SELECT quote_ident(schema.nspname) || '.' || quote_ident(class.relname) AS name, "
    "coalesce(array_to_string(class.reloptions, ' '), '') AS options, "
    "coalesce(counted.n_dead_tup, 0) AS dead, coalesce(counted.n_live_tup, 0) AS living, "
    "extract(epoch FROM clock_timestamp() "
    "- greatest(counted.last_vacuum, counted.last_autovacuum))::float AS since "
    "FROM pg_class class JOIN pg_namespace schema ON schema.oid = class.relnamespace "
    "LEFT JOIN pg_stat_all_tables counted ON counted.relid = class.oid "
    "WHERE class.relname = ANY(:names) "
    "AND schema.nspname = coalesce(:schema, current_schema()) ORDER BY class.relname"
)


def transactions(patient: Patient) -> Iterator[Finding]:
    limit = patient.long_transaction
    long = [row for row in patient.rows(_SESSIONS) if row.seconds >= limit]
    prepared = [row for row in patient.rows(_PREPARED) if row.seconds >= limit]
    yield from (_session(row, limit) for row in long)
    yield from (_prepared(row, limit) for row in prepared)
    if not patient.row(_SEES_ALL).sees_all:
        yield unknown(
            "transactions",
            "those of other roles may not be looked at by this account",
            READ_ALL.format(account=patient.account),
        )
    elif not (long or prepared):
        yield ok("transactions", f"none is open for {lasting(limit)} or longer")


def slots(patient: Patient) -> Iterator[Finding]:
    """Replication that lags: it keeps the write-ahead log, and may keep dead rows."""
    lagging = [row for row in patient.rows(_SLOTS) if is_lagging(row.active, row.age)]
    yield from (_slot(row) for row in lagging)
    if not lagging:
        yield ok("slots", "no replication slot is without a reader or far behind")


def is_lagging(active: bool, age: int | None) -> bool:
    return not active or (age is not None and age >= _FAR_BEHIND)


def vacuum(patient: Patient) -> Iterator[Finding]:
    settings = patient.row(_VACUUM_SETTINGS)
    off = [name for name in ("autovacuum", "track_counts") if getattr(settings, name) != "on"]
    for name in off:
        yield bad(
            "vacuum",
            f"{name} = off: dead rows stay, and claims become slower without end",
            f"ALTER SYSTEM SET {name} = on; SELECT pg_reload_conf();",
        )
    names = {"names": [one.name for one in patient.live], "schema": patient.database.schema}
    for row in patient.rows(_TABLES, names):
        yield _table(row)


def _session(row: Any, limit: float) -> Finding:
    what = f", {row.state}" if row.state else ""
    word = f", last {row.word}" if row.word else ""
    by = f", application {row.application}" if row.application else ""
    found = f"pid {row.pid}, role {row.role}{by}{what}{word}: open for {lasting(row.seconds)}"
    remedy = f"SELECT pg_terminate_backend({row.pid});"
    if row.age is None:
        # It sees nothing old between its statements.
        return warn("transactions", f"{found}, may hold locks", remedy)
    held = f"{found}, keeps the dead rows of {row.age} transactions from being removed"
    return by_size("transactions", row.seconds, limit, held, remedy)


def _prepared(row: Any, limit: float) -> Finding:
    return by_size(
        "transactions",
        row.seconds,
        limit,
        f"prepared transaction {row.gid}, role {row.role}: open for {lasting(row.seconds)}, "
        "keeps dead rows from being removed and its locks taken",
        f"ROLLBACK PREPARED {row.quoted}; or COMMIT PREPARED {row.quoted};",
    )


def _slot(row: Any) -> Finding:
    state = "is far behind" if row.active else "has no reader"
    rows = "" if row.age is None else f"the dead rows of {row.age} transactions and "
    return warn(
        "slots",
        f"{row.kind} slot {row.name} {state}: it keeps {rows}the write-ahead log",
        f"See to its reader, or SELECT pg_drop_replication_slot({row.quoted});",
    )


def _table(row: Any) -> Finding:
    if "autovacuum_enabled=false" in row.options or "autovacuum_enabled=off" in row.options:
        return bad(
            "vacuum",
            f"{row.name}: autovacuum is off for this table, {row.dead} dead rows",
            f"ALTER TABLE {row.name} RESET (autovacuum_enabled);",
        )
    when = "never vacuumed" if row.since is None else f"vacuumed {lasting(row.since)} ago"
    found = f"{row.name}: {row.dead} dead rows, {row.living} living, {when}"
    most = max(_MOST_DEAD, row.living)
    return by_size("vacuum", row.dead, most, found, f"VACUUM (ANALYZE) {row.name};")
