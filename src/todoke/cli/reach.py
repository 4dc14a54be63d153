"""Reaching the application's database, with a clear word when it cannot be done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from todoke.app import Todoke
from todoke.cli.refusal import Refused
from todoke.database import READ_ONLY, safe_url
from todoke.databases import schema
from todoke.databases.sqlite import missing_file


@contextmanager
def reading(app: Todoke) -> Iterator[Connection]:
    """A transaction that only looks, so that on SQLite it waits for no writer."""
    require_file(app)
    with reachable(app), app.engine.connect() as connection:
        connection.execution_options(**{READ_ONLY: True})
        with connection.begin():
            schema.check(connection, app.database)
            yield connection


@contextmanager
def acting(app: Todoke) -> Iterator[Connection]:
    """A transaction that commits at the end."""
    require_file(app)
    with reachable(app), app.engine.begin() as connection:
        schema.check(connection, app.database)
        yield connection


@contextmanager
def by_chunks(app: Todoke) -> Iterator[Connection]:
    """A connection for what begins and commits by itself."""
    with reading(app):
        pass
    with reachable(app), app.engine.connect() as connection:
        yield connection


@contextmanager
def reachable(app: Todoke) -> Iterator[None]:
    try:
        yield
    except DBAPIError as error:
        if not app.database.is_lost(error):
            raise
        raise Refused(unreachable(app, error)) from error


def unreachable(app: Todoke, error: DBAPIError) -> str:
    why = " ".join(str(error.orig).split())
    return f"The database {safe_url(app.url)} cannot be reached: {why}"


def require_file(app: Todoke) -> None:
    if missing := missing_file(app.url):
        raise Refused(
            f"There is no database {missing}. `todoke migrate` creates it; if it "
            "lies elsewhere, correct database.url."
        )
