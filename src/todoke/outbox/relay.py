"""Where a claimed event goes: to its one handler, to a delivery for each of several, or nowhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection

from todoke.work.call import Call
from todoke.work.desk import LOOK_AGAIN, Desk, may_wait, no_handler
from todoke.work.handler import Handler
from todoke.work.item import Item
from todoke.work.lease import Registers, Service, registered
from todoke.work.settlement import Dead, Later, Processed, Settlement

Land = Callable[[Connection, Item, Mapping[str, str]], None]
HasDeliveries = Callable[[str], bool]
InHand = Callable[[], Iterable[Call | Settlement]]


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What is to be written along with the settling of an event that becomes deliveries."""

    land: Land
    item: Item
    handlers: Mapping[str, str]

    def __call__(self, connection: Connection) -> None:
        self.land(connection, self.item, self.handlers)


class Relay:
    """Routes events to the handlers that all living workers have for them."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        registers: Registers,
        living: Callable[[], Mapping[UUID, Service]],
        refresh: Callable[[], Set[UUID]],
        desk: Desk,
        land: Land,
        has_deliveries: HasDeliveries,
        in_hand: InHand,
        grace: float,
    ) -> None:
        self._handlers, self._registers, self._living = handlers, registers, living
        self._refresh = refresh
        self._desk, self._land, self._grace = desk, land, grace
        self.in_place: InPlace = InPlace(has_deliveries, in_hand)
        self._as_of: Mapping[UUID, Service] | None = None
        self._known: dict[tuple[str, str], dict[str, str]] = {}

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement:
        streams = self._handlers_of(item)
        if not streams:
            # A worker that knows it may have come since this process last looked around.
            others = self._refresh() - {owner}
            streams = self._handlers_of(item)
            if not streams:
                return self._unknown(item, alone=not others)
        only = next(iter(streams)) if len(streams) == 1 else ""
        if (
            only in self._handlers
            and streams[only] == item.stream
            and (not item.ordered or self.in_place.may_call(only))
        ):
            return self._desk.call(item, self._handlers[only], owner)
        self.in_place.note_landing(streams)
        return Processed(item, then=Deliveries(self._land, item, streams), handled=False)

    def _handlers_of(self, item: Item) -> dict[str, str]:
        """Of this process and of the others: one that was just deployed is not passed over."""
        living = self._living()
        if living is not self._as_of:
            self._as_of, self._known = living, {}
        known = self._known.get((item.context, item.type))
        if known is None:
            known = {}
            for service in living.values():
                known |= registered(service.registers, item.context, item.type)
            known |= registered(self._registers, item.context, item.type)
            self._known[item.context, item.type] = known
        return known

    def _unknown(self, item: Item, *, alone: bool) -> Settlement:
        """Dead at once if nobody else is there to know it; otherwise after a grace time."""
        if not alone and may_wait(item, self._grace):
            return Later(item, LOOK_AGAIN, spared=True)
        return Dead(item, no_handler(item))


class InPlace:
    """Whether a handler may be called in place, or its event must queue up as a delivery.

    An event that went to several handlers has left deliveries, or is about to. Where the next goes
    to one of them only, what is left comes first. That is looked up once for lanes just taken over;
    from then on nobody else makes deliveries from them.
    """

    def __init__(self, has_deliveries: HasDeliveries, in_hand: InHand) -> None:
        self._has_deliveries, self._in_hand = has_deliveries, in_hand
        self._clear: set[str] = set()

    def may_call(self, handler: str) -> bool:
        if handler not in self._clear and not self._has_left(handler):
            self._clear.add(handler)
        return handler in self._clear

    def note_landing(self, handlers: Iterable[str]) -> None:
        self._clear.difference_update(handlers)

    def forget(self) -> None:
        """Lanes were taken over: their former owner may have left deliveries."""
        self._clear.clear()

    def _has_left(self, handler: str) -> bool:
        """Asked in this order: what is in hand now may be written at any moment."""
        return handler in self._to_be_written() or self._has_deliveries(handler)

    def _to_be_written(self) -> Collection[str]:
        return {
            handler
            for one in self._in_hand()
            if isinstance(one, Processed) and isinstance(one.then, Deliveries)
            for handler in one.then.handlers
        }
