"""Rows that grow old: an application whose messages are processed, or die, and its archive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Row, Table, select, update

from tests.application import Noted, Placed, Shipped, application, publish, rows
from todoke import PermanentError, Todoke
from todoke.clock import Clock
from todoke.retention.file import files_in, read
from todoke.retention.line import Line

REFUSED = "refuse"


@contextmanager
def keeping(url: str, clock: Clock | None, **settings: object) -> Iterator[Todoke]:
    """An application; what it refuses dies at once, ordered or not."""
    with application(url, clock=clock, settings=settings) as app:

        @app.on(Placed)
        def note(event: Placed) -> None:
            _refuse(event.note)

        @app.on(Noted)
        def write(event: Noted) -> None:
            _refuse(event.note)

        @app.on(Shipped)
        def track(event: Shipped) -> None:
            pass

        @app.on(Shipped)
        def bill(event: Shipped) -> None:
            pass

        yield app


def _refuse(note: str) -> None:
    if note == REFUSED:
        raise PermanentError("no", code="NO")


def process(app: Todoke, *orders: int, note: str = "") -> None:
    """Publish events and let them be processed now, each in place."""
    publish(app, *(Noted(order_id=order, note=note) for order in orders))
    app.drain()


def bury(app: Todoke, *orders: int) -> None:
    """Letters that nobody waits behind."""
    process(app, *orders, note=REFUSED)


def clean(app: Todoke, *, dry_run: bool = False) -> dict[str, int]:
    """What `todoke archive run` does; kinds without a row are left out."""
    with app.engine.connect() as connection:
        gone = app.archive.run(connection, dry_run=dry_run)
    return {kind: count for kind, count in gone.items() if count}


def settled(app: Todoke) -> list[int]:
    """The orders that are still in the history of events."""
    return [int(row.key) for row in rows(app, app.outbox_table.history)]


def delivered(app: Todoke) -> list[Row[Any]]:
    return rows(app, app.inbox_table.history)


def all_letters(app: Todoke) -> list[Row[Any]]:
    return rows(app, app.letter_table)


def archived(app: Todoke, kind: str | None = None) -> list[Line]:
    """Every line of the archive's files."""
    kinds = app.archive.kinds
    files = files_in(app.archive.folder.path, kind)
    return [line for file in files for line in read(file, kinds)]


def files(app: Todoke, kind: str | None = None) -> list[Path]:
    return files_in(app.archive.folder.path, kind)


def as_line(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping)


def change(app: Todoke, table: Table, id: int | UUID, **values: Any) -> None:
    with app.engine.begin() as connection:
        connection.execute(update(table).where(table.c.id == id).values(**values))


def count(app: Todoke, table: Table) -> int:
    with app.engine.connect() as connection:
        return len(connection.execute(select(table.c.id)).all())
