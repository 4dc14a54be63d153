"""Counts events once their transaction commits; what a rollback takes along is not counted.

SQLAlchemy tells of a COMMIT just before it, and of savepoints. Counted is therefore what was to be
committed, also where that COMMIT fails. Drivers tell of no end: there events count when written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Connection, Engine, RootTransaction, event

from todoke.outbox.row import Row
from todoke.telemetry import Label, Tally

_Part = tuple[Tally, list[Label]]
_written: WeakKeyDictionary[RootTransaction, list[_Part | str]] = WeakKeyDictionary()
"""In the order of writing, and in between the names of the savepoints that were set meanwhile."""
_heard: WeakSet[Engine] = WeakSet()


class Enqueued:
    """Counts the events of one application."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def with_commit(self, connection: Connection, rows: Sequence[Row]) -> None:
        """They count once the connection's present transaction commits."""
        transaction = connection.get_transaction()
        if transaction is not None:
            _hear(connection.engine)
            _written.setdefault(transaction, []).append((self._tally, list(_labels(rows))))

    def now(self, rows: Sequence[Row]) -> None:
        self._tally.add(_labels(rows))


def _labels(rows: Iterable[Row]) -> Iterable[Label]:
    return (("enqueued", row.shared["context"], row.shared["type"], None, "") for row in rows)


def _hear(engine: Engine) -> None:
    if engine not in _heard:
        _heard.add(engine)
        event.listen(engine, "commit", _on_commit)
        event.listen(engine, "commit_twophase", _on_commit)
        event.listen(engine, "savepoint", _on_savepoint)
        event.listen(engine, "rollback_savepoint", _on_rollback_to)


def _on_commit(connection: Connection, *_details: object) -> None:
    transaction = connection.get_transaction()
    for part in _written.pop(transaction, ()) if transaction is not None else ():
        if isinstance(part, tuple):
            tally, labels = part
            tally.add(labels)


def _on_savepoint(connection: Connection, name: str) -> None:
    if (parts := _parts(connection)) is not None:
        parts.append(name)


def _on_rollback_to(connection: Connection, name: str, _context: None) -> None:
    """A savepoint that is not known was set before anything was written."""
    if (parts := _parts(connection)) is not None:
        del parts[parts.index(name) if name in parts else 0 :]


def _parts(connection: Connection) -> list[_Part | str] | None:
    transaction = connection.get_transaction()
    return None if transaction is None else _written.get(transaction)
