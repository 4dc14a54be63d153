"""Examining a database as `todoke doctor` does, and picking out what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, NullPool, create_engine, text

from todoke import Settings, Todoke
from todoke.clock import Clock
from todoke.finding import Finding

Database = str | Engine
Said = Mapping[str, object]


@contextmanager
def application(
    database: Database, *, clock: Clock | None = None, settings: Said | None = None
) -> Iterator[Todoke]:
    """By the system's clock, unless another is given."""
    app = Todoke(database, clock=clock, settings=Settings(settings or {}, environment={}))
    try:
        yield app
    finally:
        app.close()


def examined(
    database: Database,
    *,
    clock: Clock | None = None,
    long_transaction: str = "1m",
    settings: Said | None = None,
) -> list[Finding]:
    with application(database, clock=clock, settings=settings) as app:
        return app.doctor(long_transaction=long_transaction)


def of(check: str, findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.check == check]


def one(check: str, findings: list[Finding]) -> Finding:
    (found,) = of(check, findings)
    return found


def verdicts(findings: list[Finding]) -> set[str]:
    return {one.verdict for one in findings}


@contextmanager
def session(url: str) -> Iterator[Connection]:
    """Somebody else's session, gone at the end."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


def administer(url: str, *statements: str) -> None:
    """Each statement in a transaction of its own, as the owner of the server."""
    with session(url) as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT")
        for statement in statements:
            connection.execute(text(statement))


def value(url: str, statement: str) -> Any:
    with session(url) as connection:
        return connection.execute(text(statement)).scalar_one()
