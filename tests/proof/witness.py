"""Triggers that let the database itself witness claims and endings, on every kind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, text

from tests.proof.evidence import Effect, Entry, Evidence, Letter, Living, Settled, Witnessed
from tests.proof.job_witness import collect_jobs
from todoke import Todoke

PLACES = ("outbox", "inbox", "jobs")

TABLES = (
    "CREATE TABLE IF NOT EXISTS witness (seq {serial}, what TEXT, place TEXT, row_id BIGINT, "
    "owner TEXT, attempt INT, state TEXT, writer TEXT, strand BIGINT, at DOUBLE PRECISION)",
    "CREATE TABLE IF NOT EXISTS effects (event TEXT, handler TEXT, token TEXT)",
    "CREATE TABLE IF NOT EXISTS worker_names (id TEXT, name TEXT)",
)
_SERIAL = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgresql": "BIGSERIAL PRIMARY KEY",
    "mariadb": "BIGINT AUTO_INCREMENT PRIMARY KEY",
}
_NOW = {
    "sqlite": "(julianday('now') - 2440587.5) * 86400.0",
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "mariadb": "UNIX_TIMESTAMP(SYSDATE(6))",
}
_CHANGES = {
    "claimed": "NEW.owner IS NOT NULL AND (OLD.owner IS NULL OR OLD.attempt <> NEW.attempt)",
    "freed": "NEW.owner IS NULL AND OLD.owner IS NOT NULL",
}


def install(app: Todoke, *, by: str = "NULL") -> None:
    """Create the witness tables and triggers; `by` is SQL that names who is writing."""
    kind = app.database.kind
    with app.engine.begin() as connection:
        for table in TABLES:
            connection.execute(text(table.format(serial=_SERIAL[kind])))
        statements = _remembered(app)
        for place in PLACES:
            statements += _triggers(app, place, by)
        for statement in statements:
            connection.exec_driver_sql(statement)


def _remembered(app: Todoke) -> list[str]:
    """Workers' names outlive their rows."""
    on = f"INSERT ON {app.worker_table}"
    insert = "INSERT INTO worker_names (id, name)"
    return _when(app.database.kind, "remembered", on, "TRUE", insert, "NEW.id, NEW.name")


def _triggers(app: Todoke, place: str, by: str) -> list[str]:
    kind = app.database.kind
    tables = (app.outbox_table, app.inbox_table, app.jobs_table)
    work = dict(zip(PLACES, tables, strict=True))[place]
    letters = app.metadata.tables[_name(app, "dead_letters")]
    found = []
    if place == "jobs":
        values = f"'enqueued', '{place}', NEW.id, NULL, NEW.attempt, NEW.state, {by}, 0"
        found += _trigger("jobs_enqueued", f"INSERT ON {work.live}", "TRUE", values, kind)
    for what, condition in _CHANGES.items():
        row = "NEW" if what == "claimed" else "OLD"
        values = f"'{what}', '{place}', {row}.id, {row}.owner, {row}.attempt, NEW.state, {by}"
        values += ", NEW.strand"
        name = f"{place}_{what}"
        found += _trigger(name, f"UPDATE ON {work.live}", condition, values, kind)
    for what, table, number in (
        ("processed", work.history, "NEW.id"),
        ("died", letters, "NEW.item_id"),
    ):
        source = f"NEW.source = '{work.source}'" if what == "died" else "TRUE"
        told = "NEW.error_code" if what == "died" else "NULL"
        values = f"'{what}', '{place}', {number}, NEW.owner, NEW.attempt, {told}, {by}, 0"
        name = f"{place}_{what}"
        found += _trigger(name, f"INSERT ON {table}", source, values, kind)
    return found


def _trigger(name: str, on: str, condition: str, values: str, kind: str) -> list[str]:
    insert = "INSERT INTO witness (what, place, row_id, owner, attempt, state, writer, strand, at)"
    return _when(kind, name, on, condition, insert, f"{values}, {_NOW[kind]}")


def _when(kind: str, name: str, on: str, condition: str, insert: str, values: str) -> list[str]:
    """A trigger that inserts these values whenever the condition holds."""
    if kind == "sqlite":
        body = f"{insert} VALUES ({values})"
        return [f"CREATE TRIGGER {name} AFTER {on} WHEN {condition} BEGIN {body}; END"]
    if kind == "mariadb":
        body = f"{insert} SELECT {values} FROM DUAL WHERE {condition}"
        return [f"CREATE TRIGGER {name} AFTER {on} FOR EACH ROW {body}"]
    body = f"IF {condition} THEN {insert} VALUES ({values}); END IF; RETURN NULL;"
    return [
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$",
        f"CREATE TRIGGER {name} AFTER {on} FOR EACH ROW EXECUTE FUNCTION {name}()",
    ]


def collect(engine: Engine, app: Todoke, evidence: Evidence) -> None:
    """Read the final state into the evidence, with plain SQL of our own."""
    with engine.connect() as connection:
        _collect(connection, app, evidence)
        connection.rollback()


def _collect(connection: Connection, app: Todoke, evidence: Evidence) -> None:
    def rows(statement: str) -> Sequence[Any]:
        return connection.execute(text(statement)).all()

    for place in PLACES[:2]:
        live, history = _name(app, place), _name(app, f"{place}_history")
        for event, handler in rows(f"SELECT message_id, handler FROM {live}"):
            evidence.living.append(Living(_id(event), handler))
        for event, handler in rows(f"SELECT message_id, handler FROM {history}"):
            evidence.settled.append(Settled(_id(event), handler))
    for event, handler, *told, attempts, closed in rows(
        "SELECT message_id, handler, body, error_class, error_code, error_message, "
        f"error_traceback, attempt - spared, closed_as FROM {_name(app, 'dead_letters')} "
        "WHERE source <> 'job'"
    ):
        body, error_class, code, message, trail = (one or "" for one in told)
        why = (error_class, code, message, trail, attempts)
        evidence.letters.append(Letter(_id(event), handler, body, *why, closed == "redriven"))
    collect_jobs(evidence, rows, partial(_name, app), _id)
    for event, state in rows(f"SELECT message_id, state FROM {_name(app, 'ledger')}"):
        evidence.entries.append(Entry(_id(event), state))
    for row in rows("SELECT event, handler, token FROM effects"):
        evidence.effects.append(Effect(*row))
    for what, place, number, owner, *rest in rows(
        "SELECT what, place, row_id, owner, attempt, state, writer, strand "
        "FROM witness ORDER BY seq"
    ):
        holder = None if owner is None else _id(owner)
        evidence.witnessed.append(Witnessed(what, place, number, holder, *rest))


def _name(app: Todoke, table: str) -> str:
    prefix = f"{app.database.schema}." if app.database.schema else ""
    return f"{prefix}{app.database.prefix}{table}"


def _id(value: object) -> str:
    return str(value).replace("-", "")
