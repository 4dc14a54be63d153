"""Where a claimed event goes: to its one handler, to a delivery for each of several, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from uuid import UUID

from sqlalchemy import Connection

from todoke.work.desk import LOOK_AGAIN, Desk, may_wait, no_handler
from todoke.work.handler import Handler
from todoke.work.item import Item
from todoke.work.lease import Registers, registered
from todoke.work.perform import Call
from todoke.work.settle import Dead, Later, Processed, Settlement

Land = Callable[[Connection, Item, Sequence[str]], None]


class Relay:
    """Routes events to the handlers that all living workers have for them."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        registers: Registers,
        living: Callable[[], Mapping[UUID, Registers]],
        refresh: Callable[[], Set[UUID]],
        desk: Desk,
        land: Land,
        grace: float,
    ) -> None:
        self._handlers, self._registers, self._living = handlers, registers, living
        self._refresh = refresh
        self._desk, self._land, self._grace = desk, land, grace

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement:
        names = self._handlers_of(item)
        if not names:
            # A worker that knows it may have come since this process last looked around.
            others = self._refresh() - {owner}
            names = self._handlers_of(item)
            if not names:
                return self._unknown(item, alone=not others)
        if len(names) == 1 and names[0] in self._handlers:
            return self._desk.call(item, self._handlers[names[0]], owner)
        return Processed(item, then=lambda connection: self._land(connection, item, names))

    def _handlers_of(self, item: Item) -> list[str]:
        """Of this process and of the others: one that was just deployed is not passed over."""
        everyone = [self._registers, *self._living().values()]
        return sorted({name for one in everyone for name in registered(one, item)})

    def _unknown(self, item: Item, *, alone: bool) -> Settlement:
        """Dead at once if nobody else is there to know it; otherwise after a grace time."""
        if not alone and may_wait(item, self._grace):
            return Later(item, LOOK_AGAIN, spared=True)
        return Dead(item, no_handler(item))
