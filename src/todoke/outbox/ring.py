"""Rings the bell after the commit of a transaction that wrote events.

SQLAlchemy tells before a COMMIT, not after it. So the bell's thread is handed the transaction just
before, and rings once it is over. This holds for every kind of handle, since each ends in a
Connection, and for a Session that joined somebody else's transaction. A rollback hands nothing
over. A commit that fails, or a savepoint that was rolled back, may ring for nothing.
"""

from __future__ import annotations

from collections.abc import Collection
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy import Connection, Engine, RootTransaction, event

from todoke.bell import Bell

_noted: WeakKeyDictionary[RootTransaction, dict[Bell, set[str]]] = WeakKeyDictionary()
_heard: WeakSet[Engine] = WeakSet()


def ring_after_commit(bell: Bell, connection: Connection, hints: Collection[str]) -> None:
    """Ring once the connection's present transaction is committed; outside of one, never."""
    transaction = connection.get_transaction()
    if transaction is not None:
        _hear(connection.engine)
        _noted.setdefault(transaction, {}).setdefault(bell, set()).update(hints)


def _hear(engine: Engine) -> None:
    # Per engine, not for all engines of the process: most of them are none of our business.
    if engine not in _heard:
        _heard.add(engine)
        event.listen(engine, "commit", _on_commit)
        event.listen(engine, "commit_twophase", _on_commit)


def _on_commit(connection: Connection, *_details: object) -> None:
    transaction = connection.get_transaction()
    bells = _noted.pop(transaction, None) if transaction is not None else None
    if transaction is None or bells is None:
        return
    for bell, hints in bells.items():
        bell.ring(hints, lambda: not transaction.is_active)
