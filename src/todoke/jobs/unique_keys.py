"""The table of unique keys: taken, found and freed.

As with the ledger a key is inserted first and never looked up before: of two callers the second
waits at the unique key until the first one's transaction has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, SmallInteger, Table, bindparam, delete, select, update

from todoke import crash
from todoke.database import UNIQUE_ID, Database
from todoke.errors import JobExists, TodokeError
from todoke.jobs.row import JobRow
from todoke.jobs.unique import Unique
from todoke.work.item import LATER, READY
from todoke.writing import Execute, Find, Writing

_TRIES = 5


class UniqueKeys:
    """The statements that take a key, find whose it is, and free it."""

    def __init__(self, keys: Table, jobs: Table, database: Database) -> None:
        now = database.now
        here = (
            keys.c.context == bindparam("of_context"),
            keys.c.key == bindparam("of_key"),
        )
        expired = (keys.c.expires_at <= now).label("expired")
        # Some databases answer the row that was there instead.
        told = (keys.c.job_id, expired)
        fresh = database.add_missing(keys).values(taken_at=now)
        self._take = fresh.returning(*told)
        self._take_back = fresh
        timed = fresh.values(expires_at=database.after("keeps"))
        self._take_for_a_time = timed.returning(*told)
        # With a lock: where a transaction reads as of its beginning, the newest is read all the
        # same.
        self._find = select(*told).where(*here).with_for_update(read=True)
        self._forget = delete(keys).where(*here, keys.c.expires_at <= now)
        self._pass_on = (
            update(keys)
            .where(*here)
            .values(job_id=bindparam("new_job", type_=UNIQUE_ID), taken_at=now)
        )
        waits = (
            jobs.c.message_id == bindparam("first", type_=UNIQUE_ID),
            jobs.c.owner.is_(None),
            jobs.c.state.in_([READY, LATER]),
        )
        self._replace = (
            update(jobs)
            .where(*waits)
            .values(
                body=bindparam("new_body"),
                priority=bindparam("new_priority", type_=SmallInteger()),
                state=bindparam("new_state"),
                scheduled_at=database.after("delay"),
                updated_at=now,
            )
        )
        self._waits = select(jobs.c.id).where(*waits)
        self._free = delete(keys).where(
            keys.c.job_id.in_(bindparam("jobs", type_=UNIQUE_ID, expanding=True)),
            keys.c.expires_at.is_(None),
        )

    def claiming(self, row: JobRow) -> Writing[bool]:
        """Ends with True when the job is to be inserted: the key is its own."""
        unique, mine = _wish(row), row.message_id
        here = {"of_context": row.shared["context"], "of_key": unique.key}
        for _ in range(_TRIES):
            crash.point("unique.before_insert")
            found = yield self._taking(row)
            found = found or (yield Find(self._find, here))
            if found is None:
                continue  # freed, or rolled back, between the two
            first = _uuid(found[0])
            if first == mine:
                return True
            if found[1]:
                yield Execute(self._forget, here)
                continue
            return (yield from self._repeated(row, first, here))
        raise TodokeError(
            f"{row.shared['handler']}.enqueue: the unique key {unique.key!r} could be neither "
            "inserted nor found. Does the transaction read as of a moment that has passed "
            "(REPEATABLE READ)?"
        )

    def free(self, connection: Connection, jobs: Sequence[UUID]) -> None:
        """They have ended: keys that were theirs for that long are free."""
        connection.execute(self._free, {"jobs": list(jobs)})

    def take_back(self, connection: Connection, context: str, key: str, job: UUID) -> None:
        """A job lives again: its key is its own once more, unless another has it by now."""
        connection.execute(self._take_back, {"context": context, "key": key, "job_id": job})

    def _taking(self, row: JobRow) -> Find:
        unique, context = _wish(row), row.shared["context"]
        values: dict[str, Any] = {"context": context, "key": unique.key, "job_id": row.message_id}
        if unique.within is None:
            return Find(self._take, values)
        return Find(self._take_for_a_time, {**values, "keeps": unique.within.total_seconds()})

    def _repeated(self, row: JobRow, first: UUID, here: dict[str, Any]) -> Writing[bool]:
        unique = _wish(row)
        if unique.repeat == "raise":
            raise JobExists(row.shared["handler"], unique.key, first)
        if unique.repeat == "replace" and not (yield from self._replaced(row, first)):
            # It runs, or has ended: its key passes on to this one.
            yield Execute(self._pass_on, {**here, "new_job": row.message_id})
            return True
        row.ref.note_first(first)
        return False

    def _replaced(self, row: JobRow, first: UUID) -> Writing[bool]:
        values = {
            "first": first,
            "new_body": row.body,
            "new_priority": row.shared["priority"],
            "new_state": row.shared["state"],
            "delay": float(row.delay),
        }
        yield Execute(self._replace, values)
        return (yield Find(self._waits, {"first": first})) is not None


def _wish(row: JobRow) -> Unique:
    assert row.unique is not None  # noqa: S101
    return row.unique


def _uuid(value: Any) -> UUID:
    """Drivers that are asked without SQLAlchemy answer ids as they keep them."""
    if isinstance(value, UUID):
        return value
    return UUID(bytes=value) if isinstance(value, bytes) else UUID(str(value))
