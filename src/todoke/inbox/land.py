"""Landing: an event becomes one delivery for each of its handlers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlalchemy import Connection, bindparam, insert, select

from todoke.database import Database
from todoke.hint import hint_of
from todoke.work.item import Item
from todoke.work.strand import place_of
from todoke.work.table import CARRIED, WorkTable

Ring = Callable[[Connection, Collection[str]], None]
Fates = Callable[[str, Item], str]
"""What becomes of a handler's key when one of its deliveries dies."""

Expect = Callable[[Connection, Item, int], None]
"""Told how many deliveries have to end well before the event's entry in the ledger has."""


class Landing:
    """Copies a settled event into the inbox, once per handler, in the settling transaction."""

    def __init__(
        self,
        outbox: WorkTable,
        inbox: WorkTable,
        database: Database,
        fate: Fates,
        ring: Ring,
        expect: Expect,
    ) -> None:
        event = outbox.history
        self._source, self._fate, self._ring = inbox.source, fate, ring
        self._expect = expect
        own = ("stream", "followers", "handler", "strand", "lane")
        kept = [name for name in CARRIED if name not in own]
        copy = select(
            *(event.c[name] for name in kept),
            *(bindparam(f"new_{name}", type_=inbox.live.c[name].type) for name in own),
            database.now,
            database.now,
        ).where(event.c.id == bindparam("event_row"))
        columns = [*kept, *own, "scheduled_at", "updated_at"]
        self._copy = insert(inbox.live).from_select(columns, copy, include_defaults=False)

    def __call__(self, connection: Connection, item: Item, handlers: Mapping[str, str]) -> None:
        self._expect(connection, item, len(handlers))
        hints = set()
        for handler, stream in sorted(handlers.items()):
            place = place_of(stream, item.aggregate, item.key, handler, ordered=item.ordered)
            own = {"stream": stream, "followers": self._fate(handler, item), "handler": handler}
            new = {f"new_{name}": value for name, value in {**own, **place}.items()}
            connection.execute(self._copy, {"event_row": item.id, **new})
            hints.add(hint_of(self._source, stream, place["lane"]))
        self._ring(connection, hints)
