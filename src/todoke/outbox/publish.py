"""Publishing: an event becomes a row in the caller's transaction.

On a Session the rows wait, like `session.add`, and go in after the caller's own rows, in one
INSERT, before COMMIT; a savepoint that is rolled back takes its events along. On a Connection
the INSERT runs at once.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError
from sqlalchemy import Connection, insert

from todoke import codec, crash
from todoke.clock import Clock
from todoke.database import Database
from todoke.duration import Duration, duration
from todoke.errors import InvalidEvent, Oversized, UnknownEvent, Unserialisable
from todoke.identity import Identities
from todoke.message import Event, Message
from todoke.work.item import LATER, READY
from todoke.work.table import WorkTable

E = TypeVar("E", bound=Event)
LANES = 64
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
Row = dict[str, Any]


class Outbox:
    """Turns events into rows and writes them."""

    def __init__(
        self,
        table: WorkTable,
        database: Database,
        identities: Identities,
        *,
        max_bytes: int,
    ) -> None:
        self.table, self.database = table, database
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
    ) -> Row:
        declared = type(message.data).declared
        wait = _wait(delay, self.database.clock)
        limit = duration(expires, "expires") if expires is not None else declared.expires
        return {
            "message_id": message.id,
            "context": message.context,
            "type": message.type,
            "version": message.version,
            "aggregate": message.aggregate,
            "key": message.key,
            "lane": zlib.crc32(message.key.encode()) % LANES,
            "ordered": declared.ordered,
            "followers": declared.followers,
            "body": self._body(message.data),
            "headers": codec.dump_headers(message.headers),
            "trace_context": message.trace_context,
            "deliver_before": None if limit is None else message.created_at + limit,
            "state": LATER if wait else READY,
            "delay": wait,
        }

    def write(self, connection: Connection, rows: Sequence[Row]) -> None:
        """One INSERT for all that are due now, one for all that are due later."""
        due = [_without_delay(row) for row in rows if not row["delay"]]
        later = [row for row in rows if row["delay"]]
        crash.point("publish.before_insert")
        if due:
            connection.execute(self._now, due)
        if later:
            connection.execute(self._later, later)
        crash.point("publish.after_insert")

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


def _without_delay(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "delay"}
