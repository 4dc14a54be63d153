"""Publishing: an event becomes a row in the caller's transaction.

On a Session the rows wait, like `session.add`, and go in after the caller's own rows, in one
INSERT, before COMMIT; a savepoint that is rolled back takes its events along. On a Connection
the INSERT runs at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, insert

from todoke import codec, crash
from todoke.clock import Clock
from todoke.database import Database
from todoke.duration import Duration, duration
from todoke.errors import InvalidEvent, Oversized, UnknownEvent, Unserialisable
from todoke.hint import hint_of
from todoke.identity import Identities
from todoke.message import Event, Message
from todoke.work.item import LATER, READY
from todoke.work.strand import place_of, stream_name
from todoke.work.table import WorkTable

E = TypeVar("E", bound=Event)
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
Row = dict[str, Any]
Ring = Callable[[Connection, Collection[str]], None]
"""Tells workers, after the connection's commit, which streams have something new."""


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
    ) -> None:
        self.table, self.database, self._ring = table, database, ring
        self._identities, self._max_bytes = identities, max_bytes
        moments = {"created_at": database.now, "updated_at": database.now}
        self._now = insert(table.live).values(scheduled_at=database.now, **moments)
        self._later = insert(table.live).values(scheduled_at=database.after("delay"), **moments)

    def message(
        self, event: E, context: str, *, headers: Mapping[str, str] | None = None
    ) -> Message[E]:
        """The event in its envelope; refuses what could not be delivered."""
        if not isinstance(event, Event):
            raise UnknownEvent(event)
        declared = type(event).declared
        drawn = self._identities.draw()
        return Message(
            id=drawn,
            type=declared.type,
            version=declared.version,
            context=declared.context or context,
            aggregate=declared.aggregate or declared.type,
            key=declared.key_of(event) or str(drawn),
            data=event,
            created_at=self.database.clock.now(),
            headers=dict(headers or {}),
            trace_context=_trace_context(headers),
        )

    def row(
        self,
        message: Message[Event],
        *,
        delay: Duration | datetime | None = None,
        expires: Duration | None = None,
        locked: bool = False,
    ) -> Row:
        """A delayed event gives up its place: followers do not wait until it is due."""
        declared = type(message.data).declared
        wait = _wait(delay, self.database.clock)
        limit = duration(expires, "expires") if expires is not None else declared.expires
        stream, ordered = stream_name(message.context), declared.ordered and not wait
        return {
            "message_id": message.id,
            "context": message.context,
            "stream": stream,
            "type": message.type,
            "version": message.version,
            "aggregate": message.aggregate,
            "key": message.key,
            **place_of(stream, message.aggregate, message.key, None, ordered=ordered),
            "ordered": ordered,
            "followers": declared.followers,
            "body": self._body(message.data),
            "headers": codec.dump_headers(message.headers),
            "trace_context": message.trace_context,
            "deliver_before": None if limit is None else message.created_at + limit,
            "state": LATER if wait else READY,
            "delay": wait,
            "locked": locked,
        }

    def write(self, connection: Connection, rows: Sequence[Row]) -> None:
        """One INSERT for all that are due now, one for all that are due later."""
        due = [_without(row, "delay", "locked") for row in rows if not row["delay"]]
        later = [_without(row, "locked") for row in rows if row["delay"]]
        strands = {row["strand"] for row in rows if row["ordered"] and not row["locked"]}
        if strands:
            self.database.lock_strands(connection, sorted(strands))
        crash.point("publish.before_insert")
        if due:
            connection.execute(self._now, due)
        if later:
            connection.execute(self._later, later)
        crash.point("publish.after_insert")
        if due:
            source = self.table.source
            hints = {hint_of(source, row["stream"], row["lane"]) for row in due}
            self._ring(connection, hints)

    def _body(self, event: Event) -> str:
        name = type(event).__name__
        try:
            body = codec.dump(event.model_dump(mode="json"))
        except (codec.NotStrict, PydanticSerializationError, ValueError) as error:
            raise Unserialisable(name, str(error)) from error
        if (size := len(body.encode())) > self._max_bytes:
            raise Oversized(name, size, self._max_bytes)
        return body


def _wait(delay: Duration | datetime | None, clock: Clock) -> float:
    if delay is None:
        return 0.0
    if isinstance(delay, datetime):
        if delay.tzinfo is None:
            raise InvalidEvent(f"publish(delay={delay!r}): a time without a zone. Use UTC.")
        return max(0.0, (delay - clock.now()) / timedelta(seconds=1))
    return duration(delay, "delay").total_seconds()


def _trace_context(headers: Mapping[str, str] | None) -> str | None:
    # It comes from outside: one that is not of the W3C's shape must not break the commit.
    found = (headers or {}).get("traceparent", "")
    return found if _TRACE.fullmatch(found) else None


def _without(row: Row, *names: str) -> Row:
    return {name: value for name, value in row.items() if name not in names}
