"""Where a claimed delivery goes: to the handler it was made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from todoke.work.call import Call
from todoke.work.desk import LOOK_AGAIN, Desk, may_wait, no_handler
from todoke.work.handler import Handler
from todoke.work.item import Item
from todoke.work.lease import Service
from todoke.work.settlement import Dead, Later, Settlement


class Consumer:
    """Gives each delivery to its handler; one that lives elsewhere is left for its worker."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        living: Callable[[], Mapping[UUID, Service]],
        desk: Desk,
        grace: float,
    ) -> None:
        self._handlers, self._living, self._desk = handlers, living, desk
        self._grace = grace

    def prepare(self, item: Item, owner: UUID) -> Call | Settlement:
        handler = self._handlers.get(item.handler or "")
        if handler is not None:
            return self._desk.call(item, handler, owner)
        if self._lives_elsewhere(item) or may_wait(item, self._grace):
            return Later(item, LOOK_AGAIN, spared=True)
        return Dead(item, no_handler(item))

    def _lives_elsewhere(self, item: Item) -> bool:
        return any(
            item.handler in names
            for service in self._living().values()
            for names in service.registers.values()
        )
