"""Counts events once their transaction commits; what a rollback takes along is not counted.

SQLAlchemy tells of a COMMIT just before it, and of savepoints that are rolled back. Counted is
therefore what was to be committed, also where that COMMIT fails. Drivers tell of no end: there
events count when they are written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Connection, Engine, RootTransaction, event

from todoke.telemetry import Label, Tally
from todoke.work.row import Coming, Row


class _Part(NamedTuple):
    """What was written at once, and the savepoints it was written under."""

    tally: Tally
    labels: Counter[Label]
    savepoints: frozenset[str]


_written: WeakKeyDictionary[RootTransaction, list[_Part]] = WeakKeyDictionary()
_heard: WeakSet[Engine] = WeakSet()


class Enqueued:
    """Counts the events of one application."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def with_commit(self, connection: Connection, rows: Sequence[Row] | Coming) -> None:
        """They count once the connection's present transaction commits."""
        transaction = connection.get_transaction()
        if transaction is not None:
            _hear(connection.engine)
            part = _Part(self._tally, _labels(rows), frozenset(_savepoints(connection)))
            _written.setdefault(transaction, []).append(part)

    def now(self, rows: Sequence[Row] | Coming) -> None:
        self._tally.add(_labels(rows))


def _labels(rows: Sequence[Row] | Coming) -> Counter[Label]:
    if isinstance(rows, Coming):
        return Counter({_label(rows.shared): len(rows)})
    return Counter(_label(row.shared) for row in rows)


def _label(shared: Mapping[str, Any]) -> Label:
    return "enqueued", shared["context"], shared["type"], None, ""


def _savepoints(connection: Connection) -> Iterator[str]:
    # Their names and what encloses them SQLAlchemy keeps to itself.
    nested: Any = connection.get_nested_transaction()
    while nested is not None:
        yield nested._savepoint
        nested = nested._previous_nested


def _hear(engine: Engine) -> None:
    if engine not in _heard:
        _heard.add(engine)
        event.listen(engine, "commit", _on_commit)
        event.listen(engine, "commit_twophase", _on_commit)
        event.listen(engine, "rollback_savepoint", _on_rollback_to)


def _on_commit(connection: Connection, *_details: object) -> None:
    transaction = connection.get_transaction()
    for part in _written.pop(transaction, ()) if transaction is not None else ():
        part.tally.add(part.labels)


def _on_rollback_to(connection: Connection, savepoint: str, _context: None) -> None:
    transaction = connection.get_transaction()
    parts = _written.get(transaction, []) if transaction is not None else []
    parts[:] = [part for part in parts if savepoint not in part.savepoints]
