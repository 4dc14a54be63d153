"""Databases that belong to one test: a file that is thrown away, or one that is emptied first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import gettempdir, mkdtemp
from typing import TypeAlias

from sqlalchemy import Engine, MetaData, make_url

from todoke.app import Todoke
from todoke.database import safe_url, same_database
from todoke.databases import schema
from todoke.databases.sqlite import in_memory
from todoke.elsewhere import Elsewhere
from todoke.errors import InvalidOption, SchemaOutdated
from todoke.testing.clock import START, Clock

Tables: TypeAlias = MetaData | Callable[[Engine], object] | None
"""The application's own tables: as SQLAlchemy knows them, or what creates them."""

_MEMORY = "/dev/shm"  # noqa: S108
_contents: dict[object, bytes] = {}


class Chance(Random):
    """No jitter, and the same numbers in each run."""

    def random(self) -> float:
        return 0.5


@contextmanager
def throwaway(app: Todoke, tables: Tables) -> Iterator[Clock]:
    """The application on a SQLite file of its own, in memory where the system has a place for it.

    The tables are made once; from then on they are copied.
    """
    if (there := app.places.get("throwaway")) is None:
        there_is_memory = os.access(_MEMORY, os.W_OK | os.X_OK)
        folder = mkdtemp(prefix="todoke-test-", dir=_MEMORY if there_is_memory else gettempdir())
        there = app.places["throwaway"] = _elsewhere(f"sqlite:///{folder}/test.db")
    else:
        _folder(there).mkdir(mode=0o700)
    try:
        with _moved(app, there) as clock:
            _fill(app, _folder(there) / "test.db", tables)
            yield clock
    finally:
        shutil.rmtree(_folder(there))


@contextmanager
def emptied(app: Todoke, url: str, tables: Tables) -> Iterator[Clock]:
    """The application on this database, with all tables there and nothing in them."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite" and in_memory(address):
        raise InvalidOption("database", url, "leave it away: the default is a file in memory.")
    if same_database(app.url, address):
        raise InvalidOption(
            "database",
            safe_url(address),
            "is the application's own database, whose events would be deleted. Give the tests one "
            "of their own.",
        )
    new = url not in app.places
    there = app.places.setdefault(url, _elsewhere(url))
    with _moved(app, there) as clock:
        if new:
            _migrate_if_needed(app)
            _create(tables, app.engine)
        _empty(app.engine, app.metadata)
        if isinstance(tables, MetaData):
            _empty(app.engine, tables)
        yield clock


@contextmanager
def djangos(app: Todoke) -> Iterator[Clock]:
    """The application on the database that Django has made for its tests, and empties."""
    from django.test import utils  # noqa: PLC0415

    if not hasattr(utils._TestState, "saved_data"):
        raise InvalidOption(
            "Harness",
            app.name,
            "an application on Django's connection is tested within Django's own tests: "
            "`manage.py test`, or pytest-django.",
        )
    with _moved(app, app.places.setdefault("django", _elsewhere(None))) as clock:
        yield clock


def _elsewhere(url: str | None) -> Elsewhere:
    return Elsewhere(url, Clock(), Chance(0))


@contextmanager
def _moved(app: Todoke, there: Elsewhere) -> Iterator[Clock]:
    assert isinstance(there.clock, Clock)  # noqa: S101
    there.clock.set(START)
    with app.elsewhere(there):
        yield there.clock


def _folder(there: Elsewhere) -> Path:
    return Path(str(make_url(str(there.url)).database)).parent


def _fill(app: Todoke, file: Path, tables: Tables) -> None:
    kind = (app.database.prefix, tables)
    if kind in _contents:
        file.write_bytes(_contents[kind])
        return
    app.migrate()
    _create(tables, app.engine)
    app.engine.dispose()  # the last one to leave writes the log into the file
    _contents[kind] = file.read_bytes()


def _migrate_if_needed(app: Todoke) -> None:
    try:
        with app.engine.connect() as connection:
            schema.check(connection, app.database)
    except SchemaOutdated:
        app.migrate()


def _create(tables: Tables, engine: Engine) -> None:
    if isinstance(tables, MetaData):
        tables.create_all(engine)
    elif tables is not None:
        tables(engine)


def _empty(engine: Engine, metadata: MetaData) -> None:
    with engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.execute(table.delete())
