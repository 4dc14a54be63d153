"""Accepting a key: it is inserted first, and never looked up before.

Of two callers the second waits, at the unique key, until the first one's transaction has ended;
then it finds that one's entry, or none if it was rolled back, and its own goes in.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import Table, and_, bindparam, delete, exists, or_, select
from sqlalchemy.sql import ColumnElement

from todoke import crash
from todoke.database import UNIQUE_ID, Database
from todoke.errors import TodokeError
from todoke.ledger.entry import (
    ACCEPTED,
    FAILED,
    FIELDS,
    Accepted,
    Conflict,
    InProgress,
    LedgerAnswer,
    Replay,
    entry_of,
)
from todoke.ledger.request import Scope
from todoke.writing import Execute, Find, Writing

_TRIES = 5
_NEVER_FOUND = (
    "key {key!r} could be neither inserted nor found. Does the transaction read as of a moment "
    "that has passed (REPEATABLE READ)? Accept the key in the transaction's first statement."
)


class Accepting:
    """The statements that take a key, or find whose it is."""

    def __init__(self, ledger: Table, letters: Table, database: Database) -> None:
        now = database.now
        expired = (ledger.c.expires_at <= now).label("expired")
        self._columns = [ledger.c[name] for name in FIELDS]
        told = [*self._columns, expired]
        fresh = database.add_missing(ledger).values(state=ACCEPTED, accepted_at=now)
        self._insert = fresh.returning(*told)
        this = ledger.c.id == bindparam("this_id", type_=UNIQUE_ID)
        self._find = select(*told).where(this)
        self._forget = delete(ledger).where(this, over(ledger, letters, database))

    def writing(
        self, scope: Scope, digest: str, message_id: UUID, keeps: float, retry_after: int
    ) -> Writing[LedgerAnswer]:
        values = _values(scope, digest, message_id, keeps)
        this = {"this_id": values["id"]}
        forgotten = False
        for _ in range(_TRIES):
            crash.point("accept.before_insert")
            row = yield Find(self._insert, values)
            crash.point("accept.after_insert")
            row = row or (yield Find(self._find, this))
            if row is None:
                continue  # it has expired, or was rolled back, between the two
            entry, expired = entry_of(row), row[len(FIELDS)]
            if entry.message_id == message_id:
                return Accepted(entry)
            if expired and not forgotten:
                yield Execute(self._forget, this)
                forgotten = True
                continue
            if entry.digest != digest:
                return Conflict(entry)
            return InProgress(entry, retry_after) if entry.state == ACCEPTED else Replay(entry)
        raise TodokeError(_NEVER_FOUND.format(key=scope.key))


def over(ledger: Table, letters: Table, database: Database) -> ColumnElement[bool]:
    """The entry may go: its time is up, and no dead letter waits that would change it."""
    still_open = exists().where(
        letters.c.message_id == ledger.c.message_id, letters.c.closed_at.is_(None)
    )
    return and_(
        ledger.c.expires_at <= database.once(database.now),
        or_(ledger.c.state != FAILED, ~still_open),
    )


def _values(scope: Scope, digest: str, message_id: UUID, keeps: float) -> dict[str, Any]:
    return {
        "id": scope.id,
        "tenant": scope.tenant,
        "caller": scope.caller,
        "operation": scope.operation,
        "key": scope.key,
        "digest": digest,
        "message_id": message_id,
        "keeps": keeps,
    }
