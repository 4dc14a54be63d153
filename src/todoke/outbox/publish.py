"""Publishing: an event becomes a row in the caller's transaction.

On a Session the rows wait, like `session.add`, and go in after the caller's own rows, in one
INSERT, before COMMIT; a savepoint that is rolled back takes its events along. On a Connection
the INSERT runs at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Protocol, TypeVar
from uuid import UUID

from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection

from todoke import codec, crash
from todoke.bell import Hints
from todoke.clock import Clock
from todoke.database import Database
from todoke.databases import schema
from todoke.duration import Duration, duration
from todoke.errors import (
    InvalidEvent,
    InvalidOption,
    Oversized,
    UnknownEvent,
    Unserialisable,
)
from todoke.handles.enqueued import Enqueued
from todoke.hint import hint_of
from todoke.identity import Identities
from todoke.message import Event, Message
from todoke.telemetry import Tally
from todoke.work.item import LATER, READY
from todoke.work.row import Inserts, Row
from todoke.work.strand import place_of, stream_name
from todoke.work.table import WorkTable
from todoke.writing import Writing, perform_on, run

E = TypeVar("E", bound=Event)
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
Ring = Callable[[Connection, Collection[str]], None]
"""Tells workers, after the connection's commit, which streams have something new."""


class Settles(Protocol):
    """An entry of the ledger: which it is, and the id of the message that settles it."""

    @property
    def id(self) -> UUID: ...
    @property
    def message_id(self) -> UUID: ...


class Outbox:
    """Turns events into rows and writes them."""

    def __init__(
        self,
        table: WorkTable,
        database: Database,
        identities: Identities,
        *,
        max_bytes: int,
        ring: Ring = lambda _connection, _hints: None,
        tally: Tally | None = None,
    ) -> None:
        self.table: WorkTable = table
        self.database: Database = database
        self.enqueued: Enqueued = Enqueued(Tally() if tally is None else tally)
        self._ring = ring
        self._identities, self._max_bytes = identities, max_bytes
        self._inserts = Inserts(table, database)

    def messages(
        self,
        events: Sequence[E],
        context: str,
        *,
        headers: Mapping[str, str] | None = None,
        settles: Settles | None = None,
    ) -> list[Message[E]]:
        """The events in their envelopes; refuses what could not be delivered."""
        for event in events:
            if not isinstance(event, Event):
                raise UnknownEvent(event)
        _check_headers(headers)
        now, trace = self.database.clock.now(), _trace_context(headers)
        drawn = self._draw(len(events), settles)
        return [
            _message(event, context, one, now, headers, trace)
            for event, one in zip(events, drawn, strict=True)
        ]

    def _draw(self, count: int, settles: Settles | None) -> list[UUID]:
        return self._identities.draw_many(count) if settles is None else [settles.message_id]

    def rows(
        self,
        messages: Sequence[Message[Event]],
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        locked: bool = False,
        settles: Settles | None = None,
    ) -> list[Row]:
        wait = _wait(delay, self.database.clock)
        limit = None if expires is None else duration(expires, "expires")
        entry = None if settles is None else settles.id
        return [self._row(message, wait, limit, locked, entry) for message in messages]

    def _row(
        self,
        message: Message[Event],
        wait: float,
        limit: timedelta | None,
        locked: bool,
        settles: UUID | None,
    ) -> Row:
        event = message.data
        common = shared(type(event), message.context, delayed=wait > 0)
        stream, ordered = common["stream"], common["ordered"]
        limit = event.declared.expires if limit is None else limit
        return Row(
            common,
            wait,
            locked,
            message.id,
            message.key,
            **place_of(stream, message.aggregate, message.key, None, ordered=ordered),
            body=self._body(event),
            headers=codec.dump_headers(message.headers),
            trace_context=message.trace_context,
            deliver_before=None if limit is None else message.created_at + limit,
            settles=settles,
        )

    def write(self, connection: Connection, rows: Sequence[Row]) -> None:
        """Write rows on a SQLAlchemy Connection, and ring after its commit."""
        copier = self.database.copier(connection)
        writing = self.writing(rows, copies=copier is not None)
        with schema.needed(self.database):
            hints = run(writing, perform_on(connection, copier))
        self.enqueued.with_commit(connection, rows)
        if hints:
            self._ring(connection, hints)

    def writing(self, rows: Sequence[Row], copies: bool) -> Writing[Hints]:
        """Few INSERTs, of all that are due now and of all that are due later.

        Ends with hints where there is something new; with none where nothing is due yet.
        """
        strands = {row.strand for row in rows if row.shared["ordered"] and not row.locked}
        if strands and (lock := self.database.lock_strands(sorted(strands))):
            yield lock
        crash.point("publish.before_insert")
        yield from self._inserts.writing(rows, copies=copies)
        crash.point("publish.after_insert")
        places = {(row.shared["stream"], row.lane) for row in rows if not row.delay}
        return frozenset(hint_of(self.table.source, *place) for place in places)

    def _body(self, event: Event) -> str:
        name = type(event).__name__
        try:
            body = codec.dump(event.model_dump(mode="json"))
        except (codec.NotStrict, PydanticSerializationError, ValueError) as error:
            raise Unserialisable(name, str(error)) from error
        if (size := len(body.encode())) > self._max_bytes:
            raise Oversized(name, size, self._max_bytes)
        return body


@lru_cache(maxsize=1024)
def shared(kind: type[Event], context: str, *, delayed: bool) -> Mapping[str, Any]:
    """The same object for all events of a class, by which they are known to be alike.

    A delayed event gives up its place: followers do not wait until it is due.
    """
    declared = kind.declared
    return {
        "context": context,
        "stream": stream_name(context),
        "type": declared.type,
        "version": declared.version,
        "aggregate": declared.aggregate or declared.type,
        "ordered": declared.ordered and not delayed,
        "followers": declared.followers,
        "state": LATER if delayed else READY,
    }


def _message(
    event: E,
    context: str,
    drawn: UUID,
    now: datetime,
    headers: Mapping[str, str] | None,
    trace: str | None,
) -> Message[E]:
    declared = type(event).declared
    return Message(
        drawn,
        declared.type,
        declared.version,
        declared.context or context,
        declared.aggregate or declared.type,
        declared.key_of(event) or str(drawn),
        event,
        now,
        dict(headers or {}),
        trace,
    )


def _wait(delay: Duration | datetime | None, clock: Clock) -> float:
    if delay is None:
        return 0.0
    if isinstance(delay, datetime):
        if delay.tzinfo is None:
            raise InvalidEvent(
                f"publish(delay={delay}): a time without a zone. Use datetime.now(UTC)."
            )
        return max(0.0, (delay - clock.now()) / timedelta(seconds=1))
    return duration(delay, "delay").total_seconds()


def _check_headers(headers: Mapping[str, str] | None) -> None:
    if headers is not None and not isinstance(headers, Mapping):
        raise InvalidOption("publish(headers)", type(headers).__name__, "pass a mapping.")
    for name, value in (headers or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise InvalidOption(
                "publish(headers)", name, f"is {type(value).__name__}: write both as text."
            )


def _trace_context(headers: Mapping[str, str] | None) -> str | None:
    # It comes from outside: one that is not of the W3C's shape must not break the commit.
    found = (headers or {}).get("traceparent", "")
    return found if _TRACE.fullmatch(found) else None
